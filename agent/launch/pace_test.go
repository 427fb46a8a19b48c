package launch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However many changes come, looks take a fortieth of the time, and the last change is
// seen.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan struct{}, 1)
		p := newPace(changes)
		defer p.stop()
		over := time.NewTimer(9990 * time.Millisecond) // during a rest
		looks := 0
		changes <- struct{}{}
		for busy := true; busy; {
			select {
			case <-p.due():
				began := time.Now()
				time.Sleep(5 * time.Millisecond) // so many workers
				looks++
				changes <- struct{}{}
				p.looked(began)
			case <-p.over():
				p.resume()
			case <-over.C:
				busy = false
			}
		}
		require.Equal(t, 50, looks)
		<-p.over()
		p.resume()
		<-p.due() // the change that came during the rest

		// One that took long is not followed by as long a rest.
		began := time.Now()
		time.Sleep(50 * time.Millisecond)
		p.looked(began)
		began = time.Now()
		<-p.over()
		p.resume()
		require.Equal(t, longestRest, time.Since(began))

		// A look that took no time lets the next one follow at once.
		p.looked(time.Now())
		changes <- struct{}{}
		<-p.due()
	})
}

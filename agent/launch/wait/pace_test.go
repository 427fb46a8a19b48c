package wait

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPace checks that the checks take 1/40 of the time, however many changes come, and that the
// last change is seen.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan struct{}, 1)
		p := NewPace(changes)
		defer p.Stop()
		over := time.NewTimer(9990 * time.Millisecond) // during a rest
		looks := 0
		changes <- struct{}{}
		for busy := true; busy; {
			select {
			case <-p.Due():
				began := time.Now()
				time.Sleep(5 * time.Millisecond) // a check of many workers takes this long
				looks++
				changes <- struct{}{}
				p.Looked(began)
			case <-p.Over():
				p.Resume()
			case <-over.C:
				busy = false
			}
		}
		require.Equal(t, 50, looks)
		<-p.Over()
		p.Resume()
		<-p.Due() // the change during the rest

		// A check that took long is not followed by an equally long rest.
		began := time.Now()
		time.Sleep(50 * time.Millisecond)
		p.Looked(began)
		began = time.Now()
		<-p.Over()
		p.Resume()
		require.Equal(t, longestRest, time.Since(began))

		// After a check that took no time, the next one follows at once.
		p.Looked(time.Now())
		changes <- struct{}{}
		<-p.Due()
	})
}

package relay

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// farEnd is what one end of a trunk sees of the other. It implements session, and io.ReadWriteCloser.
type farEnd struct {
	closed chan struct{}
	pongs  bool
}

func (f *farEnd) Ping() (time.Duration, error) {
	if f.pongs {
		return 0, nil
	}
	time.Sleep(writeTime)
	return 0, errors.New("i/o deadline reached")
}

func (f *farEnd) CloseChan() <-chan struct{}  { return f.closed }
func (f *farEnd) Read(p []byte) (int, error)  { return len(p), nil }
func (f *farEnd) Write(p []byte) (int, error) { return len(p), nil }

func (f *farEnd) Close() error {
	close(f.closed)
	return nil
}

// TestSilentTrunk checks that a trunk ends if nothing comes from its far end, and not if only the answer
// to a ping is late. All workers behind the trunk would be dialed again.
func TestSilentTrunk(t *testing.T) {
	const round = pingEvery + writeTime + secondLook
	for name, c := range map[string]struct {
		pongs bool
		bytes []time.Duration // when bytes are read
		ends  time.Duration   // 0: the trunk stays
	}{
		"it answers":                          {pongs: true},
		"nothing comes":                       {ends: round},
		"bytes of lanes come for some time":   {bytes: []time.Duration{pingEvery + time.Second, round + pingEvery + time.Second}, ends: 3 * round},
		"bytes came and are read a bit later": {bytes: []time.Duration{round - secondLook/2}, ends: 2 * round},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := &farEnd{closed: make(chan struct{}), pongs: c.pongs}
				conn := newLife(far)
				for _, at := range c.bytes {
					time.AfterFunc(at, func() { _, _ = conn.Read(make([]byte, 1)) })
				}
				began, attended := time.Now(), make(chan struct{})
				go func() {
					defer close(attended)
					attend(far, conn)
				}()
				select {
				case <-attended:
					require.Equal(t, c.ends, time.Since(began))
				case <-time.After(10 * time.Minute):
					require.Zero(t, c.ends)
					far.Close()
					<-attended
				}
			})
		})
	}
}

package remote

import (
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// failing takes so many writes; its reads end with it.
type failing struct {
	mu     sync.Mutex
	writes int
	once   sync.Once
	closed chan struct{}
}

func (f *failing) Read([]byte) (int, error) { <-f.closed; return 0, io.EOF }

func (f *failing) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes--; f.writes < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func (f *failing) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func TestAConnectionThatDiesAsStreamsAreOpenedLeavesNothing(t *testing.T) {
	for writes := range 4 {
		before := goleak.IgnoreCurrent()
		raw := &failing{writes: writes, closed: make(chan struct{})}
		_, err := (&Dialer{}).openSPDY(t.Context(), &line{}, raw)
		require.ErrorContains(t, err, "stream")
		goleak.VerifyNone(t, before)
	}
}

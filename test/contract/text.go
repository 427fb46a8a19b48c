package contract

import (
	"bytes"
	"sync"
)

// Text is the output of a process or a stream. It may grow while it is read.
type Text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (x *Text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.Write(p)
}

func (x *Text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}

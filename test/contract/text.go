package contract

import (
	"bytes"
	"sync"
)

// Text is output that grows while it is read: a process or a stream writes it.
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

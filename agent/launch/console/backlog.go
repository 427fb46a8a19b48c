package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// unreadWait is how long a message waits for a slow reader. Callers supervise the job, so they
	// cannot wait longer. A shorter wait would let messages fall behind the ranks' own output.
	unreadWait = time.Second
	// mostUnread is how many messages wait in memory. The newest ones are kept: they have the verdict.
	mostUnread = 1000
)

// backlog writes messages in their order, by a goroutine that lives as long as messages wait.
type backlog struct {
	mu      sync.Mutex
	outlet  *Outlet // nil: nothing was written yet, or the destination is no file
	waiting [][]byte
	dropped int
	empty   chan struct{} // closed when no message waits; nil: none waits
	unread  bool          // a message has waited in vain, so later ones need not wait
}

// put writes a message to out, or keeps it until out takes it. It calls dropped for the words about
// dropped messages, and lost with a write error.
func (b *backlog) put(out io.Writer, text []byte, dropped func(n int) []byte, lost func(error)) {
	b.mu.Lock()
	if file, isFile := out.(*os.File); isFile && b.outlet == nil {
		b.outlet = NewOutlet(file)
	}
	if b.outlet == nil || b.outlet.plain {
		defer b.mu.Unlock()
		if _, err := out.Write(text); err != nil {
			lost(err)
		}
		return
	}
	if len(b.waiting) == mostUnread {
		b.waiting, b.dropped = b.waiting[1:], b.dropped+1
	}
	b.waiting = append(b.waiting, text)
	if b.empty == nil {
		b.empty = make(chan struct{})
		go b.write(b.outlet, dropped, lost)
	}
	empty, unread := b.empty, b.unread
	b.mu.Unlock()
	if unread {
		return
	}
	late := time.NewTimer(unreadWait)
	defer late.Stop()
	select {
	case <-empty:
	case <-late.C:
		b.mu.Lock()
		b.unread = b.empty == empty
		b.mu.Unlock()
	}
}

// write writes messages until none waits.
func (b *backlog) write(to *Outlet, dropped func(n int) []byte, lost func(error)) {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 {
			close(b.empty)
			b.empty, b.unread = nil, false
			b.mu.Unlock()
			return
		}
		text := bytes.Join(b.waiting, nil)
		if b.dropped > 0 {
			text = append(dropped(b.dropped), text...)
		}
		b.waiting, b.dropped = nil, 0
		b.mu.Unlock()
		if _, err := to.Write(text); err != nil && !errors.Is(err, os.ErrClosed) { // closed by finish
			lost(err)
		}
	}
}

// finish waits until no message waits, or until ctx ends. Then it drops the messages.
func (b *backlog) finish(ctx context.Context) {
	b.mu.Lock()
	empty, outlet := b.empty, b.outlet
	b.mu.Unlock()
	if empty == nil {
		return
	}
	select {
	case <-empty:
		return
	case <-ctx.Done():
	}
	outlet.Close()
	select {
	case <-empty:
	case <-time.After(unreadWait): // another program filled the pipe, and the write blocks
	}
}

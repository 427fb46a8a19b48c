package relay

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	pingEvery = 5 * time.Second // like a link's PING
	// writeTime is how long a write to a trunk may take, and the answer to a ping.
	writeTime = 10 * time.Second
	// secondLook is how long a process that was not scheduled has to read what came meanwhile.
	secondLook = time.Second
)

// session is the part of a *yamux.Session that attend needs.
type session interface {
	Ping() (time.Duration, error)
	CloseChan() <-chan struct{}
	Close() error
}

// life is the connection of one end of a trunk, with the lanes that it carries. It counts the reads that
// brought bytes.
//
// It ends the lanes before yamux learns of the end of the connection. Otherwise each lane that waits for
// bytes keeps a processor busy, until yamux has closed the lanes one after the other. With hundreds of lanes
// and one processor, that takes a minute.
type life struct {
	io.ReadWriteCloser
	reads atomic.Uint64

	mu    sync.Mutex
	lanes map[*yamux.Stream]bool
	over  bool
}

// newLife returns the life of a trunk over conn.
func newLife(conn io.ReadWriteCloser) *life {
	return &life{ReadWriteCloser: conn, lanes: map[*yamux.Stream]bool{}}
}

// Read implements io.Reader.
func (l *life) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if n > 0 {
		l.reads.Add(1)
	}
	if err != nil {
		l.end()
	}
	return n, err
}

// Write implements io.Writer.
func (l *life) Write(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Write(p)
	if err != nil {
		l.end()
	}
	return n, err
}

// Close implements io.Closer.
func (l *life) Close() error {
	l.end()
	return l.ReadWriteCloser.Close()
}

// begin adds a lane. It returns false if the trunk has ended.
func (l *life) begin(lane *yamux.Stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.lanes[lane] = true
	}
	return !l.over
}

// leave removes a lane that is closed.
func (l *life) leave(lane *yamux.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lanes, lane)
}

// limit sets the deadline of a lane; the zero time removes it. It changes none that end has set.
func (l *life) limit(lane *yamux.Stream, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		_ = lane.SetDeadline(at) // it never fails
	}
}

// end ends reads and writes of all lanes.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for lane := range l.lanes {
		_ = lane.SetDeadline(past()) // it never fails
	}
}

// ended reports whether the trunk has ended.
func (l *life) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// past returns a deadline that is over.
func past() time.Time { return time.Unix(1, 0) }

// attend ends a trunk whose far end has fallen silent, and returns when the trunk has ended. Any byte is a
// sign of life. The keepalive of yamux ends a trunk when one answer is late, even though bytes come. Then
// the links of all workers behind the trunk are dialed again, when the machine has most to do.
func attend(trunk session, conn *life) {
	sleep := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-trunk.CloseChan():
			return false
		}
	}
	for sleep(pingEvery) {
		before := conn.reads.Load()
		if _, err := trunk.Ping(); err == nil {
			continue
		}
		if sleep(secondLook) && conn.reads.Load() == before {
			conn.end()
			trunk.Close()
			return
		}
	}
}

//go:build linux

package export

import (
	"sync"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/wait"
)

// mostPending bounds the lines that wait for the program, in bytes: more than 1,000 pods make at once.
const mostPending = 1 << 20

// queue holds lines for one reader. Adding to it never blocks.
type queue struct {
	wake chan struct{} // has a token when there are lines; closed by close

	mu      sync.Mutex
	lines   []byte
	dropped int  // events that found no room since the last line
	closed  bool // further lines are ignored
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add adds a line without its newline. If there is no room, it drops the line and counts it.
func (q *queue) add(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return
	case len(q.lines)+len(line)+1 >= mostPending: // with the newline
		q.dropped++
	default:
		q.lines = append(append(q.lines, line...), '\n')
	}
	wait.Token(q.wake)
}

// take returns all lines, and leaves none. A last line says how many events were dropped.
func (q *queue) take(now time.Time) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.wake: // it was for what is queued now
	default:
	}
	lines, dropped := q.lines, q.dropped
	q.lines, q.dropped = nil, 0
	if dropped == 0 {
		return lines
	}
	all, err := event.Event{Time: now, Kind: event.Dropped, Rank: event.NoRank, Count: dropped}.Append(lines)
	if err != nil {
		return lines
	}
	return append(all, '\n')
}

// close ends the queue. The reader still gets what is in it.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.wake)
	}
}

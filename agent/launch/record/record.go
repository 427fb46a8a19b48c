//go:build linux

package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/wait"
)

const (
	// segment is the size in bytes at which a file becomes the old one. smallSegment is that in
	// shared memory, which MPI needs.
	segment      = 8 << 20
	smallSegment = 256 << 10
	// mostPending bounds the queue in bytes: more than 1,000 pods make at once.
	mostPending = 1 << 20
	// touchEvery is how often the file shows that the launcher lives, for the end of a timeline after
	// a crash.
	touchEvery = 10 * time.Second
	// gatherTime is how long an event waits for more before they are written. A launch on 60 workers
	// has about 400 events. A crash of the launcher loses those of this time.
	gatherTime = 10 * time.Millisecond
	// mostKept bounds a buffer that is kept for later events, in bytes.
	mostKept = 16 << 10
)

// Log records the events of one run. Its methods may be called from any goroutine.
type Log struct {
	path string // "": there is no file
	lack error  // why there is none
	most int64  // size of a segment
	wake chan struct{}
	asks chan chan struct{} // of Sync
	stop chan struct{}      // closed by Close
	done chan struct{}      // closed when the writer has ended
	pods podsSeen

	touchEvery time.Duration

	mu       sync.Mutex
	pending  []byte // lines that are not written yet
	dropped  int    // events that are missing since the last line
	closed   bool
	attempt  int
	follower Follower // nil: none
	links    linksSeen

	file *os.File // these belong to the writer
	size int64
	torn bool   // the last line is incomplete
	kept []byte // an empty buffer for pending
}

// Open creates the file of a run in dir, and removes those of runs that ended long ago. id is the
// run's. The caller must call Close. With an error, Open returns a Log that computes figures, passes
// events on to a follower, and writes nothing.
func Open(dir, id string) (*Log, error) {
	clean(dir)
	l := &Log{path: pathOf(dir, id), most: sizeIn(dir), wake: make(chan struct{}, 1), asks: make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{}), touchEvery: touchEvery}
	var err error
	if l.file, err = create(l.path); err != nil {
		l.path, l.lack = "", fmt.Errorf("record events: %w", err)
		close(l.done)
		return l, l.lack
	}
	go l.run()
	return l, nil
}

// create creates a segment, and locks it for as long as the run lives.
func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // without locks, clean may remove it early
	return f, nil
}

// Begin sets the attempt of all later events.
func (l *Log) Begin(attempt int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.attempt = attempt
	l.mu.Unlock()
}

// Note records an event of the whole run.
func (l *Log) Note(kind event.Kind, detail string, count int) {
	l.add(event.Event{Kind: kind, Rank: event.NoRank, Detail: detail, Count: count})
}

// Worker records an event of a worker.
func (l *Log) Worker(kind event.Kind, worker, node, detail string) {
	l.WorkerAt(time.Now(), kind, worker, node, detail)
}

// WorkerAt is Worker for an event that has happened before.
func (l *Log) WorkerAt(at time.Time, kind event.Kind, worker, node, detail string) {
	l.add(event.Event{Time: at, Kind: kind, Worker: worker, Node: node, Rank: event.NoRank, Detail: detail})
}

// Rank records an event of a rank; event.NoRank is for a process without one.
func (l *Log) Rank(at time.Time, kind event.Kind, worker string, rank int, detail string) {
	l.add(event.Event{Time: at, Kind: kind, Worker: worker, Rank: rank, Detail: detail})
}

// FirstDone records that a rank of an mpirun has ended with 0, as the first one on its worker. Later ones
// are not reported.
func (l *Log) FirstDone(at time.Time, worker string, rank int, detail string) {
	l.add(event.Event{Time: at, Kind: event.RankEnded, Worker: worker, Rank: rank, Detail: detail, Count: event.OnlyFirst})
}

// At records an event of the whole run that has happened before.
func (l *Log) At(at time.Time, kind event.Kind, detail string) {
	l.add(event.Event{Time: at, Kind: kind, Rank: event.NoRank, Detail: detail})
}

// Ended records the end of the current attempt: its cause as one word and as a sentence, and its exit
// code.
func (l *Log) Ended(cause, why string, code int) {
	l.add(event.Event{Kind: event.AttemptEnded, Rank: event.NoRank, Cause: cause, Detail: why, Count: code})
}

// add queues an event. If its time is in the future, the clock of a node or server is ahead. The event then
// counts as happening now, before what follows from it.
func (l *Log) add(e event.Event) {
	if l == nil {
		return
	}
	if now := time.Now(); e.Time.IsZero() || e.Time.After(now) {
		e.Time = now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.links.take(e)
	e.Attempt, e.Detail = l.attempt, brief(e.Detail)
	queued := len(l.pending)
	all, err := e.Append(l.pending)
	if err == nil && l.follower != nil {
		l.follower.Take(all[queued:])
	}
	if l.path == "" {
		l.pending = all[:queued]
		return
	}
	if err != nil || len(all)+1 >= mostPending { // with the newline
		l.pending = all[:queued]
		l.dropped++
	} else {
		l.pending = append(all, '\n')
	}
	wait.Token(l.wake)
}

// Close writes what is queued, and closes the file. Later events are ignored.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if !closed {
		close(l.stop)
	}
	<-l.done
}

// syncTime is how long Sync waits for the disk.
const syncTime = time.Second

// Sync waits until the events so far are in the file. It returns after a second at the latest, because
// the disk may hang.
func (l *Log) Sync() {
	if l == nil {
		return
	}
	limit := time.NewTimer(syncTime)
	defer limit.Stop()
	written := make(chan struct{})
	select {
	case l.asks <- written:
	case <-l.done:
		return
	case <-limit.C:
		return
	}
	select {
	case <-written:
	case <-limit.C:
	}
}

// run writes what is queued until Close.
func (l *Log) run() {
	defer close(l.done)
	defer func() { l.file.Close() }() // which may be another segment then
	tick, more := time.NewTicker(l.touchEvery), time.NewTimer(gatherTime)
	defer tick.Stop()
	defer more.Stop()
	for {
		select {
		case <-l.wake:
			more.Reset(gatherTime)
			l.gather(more.C)
		case written := <-l.asks:
			l.flush()
			close(written)
		case now := <-tick.C:
			_ = os.Chtimes(l.path, now, now) // only a timeline after a crash needs it
		case <-l.stop:
			l.flush()
			return
		}
	}
}

// gather writes what is queued at a time, or earlier if a caller waits for it. Meanwhile new events do
// not wake the writer.
func (l *Log) gather(at <-chan time.Time) {
	select {
	case <-at:
		l.flush()
	case written := <-l.asks:
		l.flush()
		close(written)
	case <-l.stop: // run sees it too
	}
}

// flush writes what is queued now.
func (l *Log) flush() {
	l.mu.Lock()
	select {
	case <-l.wake: // it was for what is queued now
	default:
	}
	lines, dropped := l.pending, l.dropped
	l.pending, l.dropped, l.kept = l.kept, 0, nil
	if dropped > 0 {
		e := event.Event{Time: time.Now(), Kind: event.Dropped, Attempt: l.attempt, Rank: event.NoRank, Count: dropped}
		if all, err := e.Append(lines); err == nil {
			lines = append(all, '\n')
		}
	}
	l.mu.Unlock()
	defer func() {
		if cap(lines) <= mostKept {
			l.kept = lines[:0]
		}
	}()
	if len(lines) == 0 {
		return
	}
	if written, err := l.write(lines); err != nil {
		lost := bytes.Count(lines[written:], []byte("\n"))
		if dropped > 0 {
			lost += dropped - 1 // the line about them is not an event that was dropped
		}
		l.mu.Lock()
		l.dropped += lost
		l.mu.Unlock()
	}
}

// write appends lines to the current segment, and returns how many bytes were written. If the segment
// is full, a new one takes its place.
func (l *Log) write(lines []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(lines)) > l.most {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	if l.torn {
		if _, err := l.file.Write([]byte("\n")); err != nil {
			return 0, err
		}
		l.torn = false
	}
	n, err := l.file.Write(lines)
	l.size += int64(n)
	l.torn = n > 0 && lines[n-1] != '\n'
	return n, err
}

// rotate makes the current segment the old one.
func (l *Log) rotate() error {
	if err := os.Rename(l.path, oldOf(l.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, err := create(l.path)
	if err != nil {
		return err
	}
	_ = l.file.Close() // its bytes were written
	l.file, l.size, l.torn = next, 0, false
	return nil
}

// Each calls take for all events of the run that are still in the file, and returns the number of lines
// that are no events. It keeps none of them in memory.
func (l *Log) Each(take func(event.Event)) (skipped int, err error) {
	if !l.HasFile() {
		return 0, nil
	}
	for _, path := range []string{oldOf(l.path), l.path} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && path != l.path {
			continue
		}
		if err != nil {
			return skipped, fmt.Errorf("read events: %w", err)
		}
		n, err := event.Each(f, take)
		skipped += n
		f.Close()
		if err != nil && !errors.Is(err, event.ErrNone) {
			return skipped, fmt.Errorf("read events: %w", err)
		}
	}
	return skipped, nil
}

// HasFile reports whether the events are written to a file.
func (l *Log) HasFile() bool { return l != nil && l.path != "" }

// Text returns all events of the run that are still there, after Close. Without a file, the error says why
// there is none.
func (l *Log) Text() ([]byte, error) {
	switch {
	case l == nil:
		return nil, nil
	case l.path == "":
		return nil, l.lack
	}
	return Load(l.path)
}

//go:build linux

package export

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/reap"
)

const (
	// sampleEvery is how often the program gets numbers. Prometheus usually scrapes as often or less.
	sampleEvery = 15 * time.Second
	// gatherTime is how long an event waits for more, so that a launch on many workers does not write
	// to the program for each one.
	gatherTime = 10 * time.Millisecond
	// FlushTime is how long the end of a run waits for the program, which sends its last spans then. It
	// ends by itself a second earlier.
	FlushTime = 5 * time.Second
	// killTime bounds the wait for the program after it was killed.
	killTime = time.Second
	// lastWords is how long its last line may take after its end.
	lastWords = 100 * time.Millisecond
	// firstVictim makes the kernel kill the program before the launcher if memory is short.
	firstVictim = 1000
)

// Config says what to start.
type Config struct {
	Reaper *reap.Reaper // it must run until Close has returned
	Path   string       // of the program
	Args   []string
	Env    []string // complete environment
	// Attempt returns the number of the current attempt.
	Attempt func() int
	Voice   *console.Voice
	Log     *slog.Logger
}

// Exporter is the program while it runs. Its methods may be called from any goroutine.
type Exporter struct {
	cfg   Config
	proc  *reap.Process
	in    *os.File // written to its standard input
	said  *os.File // read from its standard error
	queue *queue
	heard heard

	flushTime time.Duration
	stop      chan struct{} // closed when the run ends
	end       sync.Once
	wg        sync.WaitGroup

	mu      sync.Mutex
	sources map[string]func(*event.Sample)
}

// Start starts the program. The caller must call Close.
func Start(c Config) (*Exporter, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer stdin.Close()
	said, stderr, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer stderr.Close()
	proc, err := c.Reaper.Start(reap.Spec{Path: c.Path, Argv: append([]string{c.Path}, c.Args...), Env: c.Env,
		Files: []*os.File{stdin, nil, stderr}, Setsid: true, OOMScoreAdj: firstVictim})
	if err != nil {
		in.Close()
		said.Close()
		return nil, err
	}
	e := &Exporter{cfg: c, proc: proc, in: in, said: said, queue: newQueue(), flushTime: FlushTime,
		stop: make(chan struct{}), sources: map[string]func(*event.Sample){}}
	e.wg.Go(e.write)
	e.wg.Go(e.sample)
	e.wg.Go(e.hear)
	return e, nil
}

// Take implements record.Follower.
func (e *Exporter) Take(line []byte) { e.queue.add(line) }

// Measure sets a source of numbers for samples. It replaces an earlier source of this name.
func (e *Exporter) Measure(name string, source func(*event.Sample)) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources[name] = source
}

// Sample sends a sample now.
func (e *Exporter) Sample() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.sources) == 0 {
		return
	}
	var s event.Sample
	for _, source := range e.sources {
		source(&s)
	}
	one, err := s.Event(time.Now(), e.cfg.Attempt())
	if err == nil {
		var line []byte
		if line, err = one.Append(nil); err == nil {
			e.queue.add(line)
		}
	}
	if err != nil {
		e.cfg.Log.Debug("sample", "error", err)
	}
}

// sample sends samples until the run ends.
func (e *Exporter) sample() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.Sample()
		case <-e.stop:
			return
		case <-e.proc.Done():
			return
		}
	}
}

// write passes the lines on until the queue is closed, or the program does not read any more.
func (e *Exporter) write() {
	defer e.in.Close()
	more := time.NewTimer(gatherTime)
	defer more.Stop()
	for open := true; open; {
		_, open = <-e.queue.wake
		more.Reset(gatherTime)
		select {
		case <-more.C:
		case <-e.stop:
		case <-e.proc.Done():
		}
		if _, err := e.in.Write(e.queue.take(time.Now())); err != nil {
			e.cfg.Log.Debug("write to "+Program, "error", err)
			e.queue.close()
			return
		}
	}
}

// Close tells the program that the run has ended, and waits for it: for FlushTime, or until ctx ends.
// Then it kills the program.
func (e *Exporter) Close(ctx context.Context) {
	if e == nil {
		return
	}
	e.end.Do(func() { e.close(ctx) })
}

func (e *Exporter) close(ctx context.Context) {
	close(e.stop)
	e.queue.close()
	ctx, cancel := context.WithTimeout(ctx, e.flushTime)
	defer cancel()
	select {
	case <-e.proc.Done():
	case <-ctx.Done():
		e.heard.tell(e.cfg.Voice, fmt.Sprintf("agent-exporter had not ended %s after the run: the last metrics and spans may be missing", e.flushTime),
			"check that the collector at OTEL_EXPORTER_OTLP_ENDPOINT answers")
		_ = e.in.SetWriteDeadline(time.Now()) // it is a pipe, so it supports deadlines
		_ = e.proc.SignalGroup(syscall.SIGKILL)
		late := time.NewTimer(killTime)
		defer late.Stop()
		select {
		case <-e.proc.Done():
		case <-late.C: // in uninterruptible sleep
			e.cfg.Log.Warn("agent-exporter was killed, but still runs", "pid", e.proc.PID())
		}
	}
	_ = e.in.SetWriteDeadline(time.Now())
	_ = e.said.SetReadDeadline(time.Now().Add(lastWords))
	e.wg.Wait()
}

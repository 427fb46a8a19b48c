package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
)

const (
	// program is the name of the program that sends the spans. It is beside the controller.
	program = "agent-exporter"
	// mostQueued is the number of spans that wait for the program. Later ones are dropped.
	mostQueued = 1024
	// flushTime is how long the program may take to send the last spans before it is killed. It ends by
	// itself a second earlier.
	flushTime = 5 * time.Second
	// againAfter is how long after its end the program is restarted.
	againAfter = time.Minute
)

// Exporter runs the program that sends spans. It implements manager.Runnable.
type Exporter struct {
	command []string
	log     logr.Logger
	queue   chan []byte
	again   time.Duration
}

// NewExporter returns an Exporter that runs the program beside the controller.
func NewExporter(log logr.Logger) (*Exporter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", program, err)
	}
	return &Exporter{command: []string{filepath.Join(filepath.Dir(self), program), "--spans"}, log: log, queue: make(chan []byte, mostQueued), again: againAfter}, nil
}

// Send queues a line. It drops the line if the queue is full.
func (e *Exporter) Send(line []byte) {
	select {
	case e.queue <- line:
	default:
		e.log.Info("a span was dropped, because agent-exporter takes none")
	}
}

// Start runs the program until ctx ends. If the program ends before, it is restarted after a while.
// Start never fails: jobs run without traces.
func (e *Exporter) Start(ctx context.Context) error {
	for {
		err := e.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		e.log.Error(err, "traces are not sent for now", "again", e.again.String())
		pause := time.NewTimer(e.again)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
	}
}

// run starts the program, and writes lines to it until it ends or ctx ends.
func (e *Exporter) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	cmd.Cancel = func() error { return nil } // it ends when its input does
	cmd.WaitDelay = flushTime
	said := &lines{log: e.log}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }() // which is received below in each case
	for {
		select {
		case line := <-e.queue:
			if _, err := in.Write(line); err == nil {
				continue
			}
			_ = in.Close()
			return endOf(<-over)
		case err := <-over:
			return endOf(err)
		case <-ctx.Done():
			e.drain(in)
			_ = in.Close()
			return endOf(<-over)
		}
	}
}

// drain writes the lines that are left.
func (e *Exporter) drain(in io.Writer) {
	for {
		select {
		case line := <-e.queue:
			if _, err := in.Write(line); err != nil {
				return
			}
		default:
			return
		}
	}
}

// endOf returns the error for an end of the program; nil: it ended with 0.
func endOf(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s ended: %w", program, err)
}

// lines logs what the program prints, line by line.
type lines struct {
	log  logr.Logger
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		l.log.Info(string(line))
		l.rest = rest
	}
}

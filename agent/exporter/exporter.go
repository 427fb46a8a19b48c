package exporter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// FlushTime is how long sinks may take to pass on the rest after the last event. The launcher waits a
// second longer before it kills the program.
const FlushTime = 4 * time.Second

// longestLine bounds a line of the input in bytes. The launcher's lines are below 1 KiB, but a sample
// grows with the number of rules.
const longestLine = 1 << 20

// Sink takes the events of one run, in order.
type Sink interface {
	// Take takes the next event. It must not wait for the network.
	Take(e event.Event)
	// Close passes on what is left, until ctx ends. Nothing is taken after it.
	Close(ctx context.Context) error
}

// Run reads events, one JSON object a line, and gives each to every sink. When the input ends, it closes
// the sinks at once, within flush, and returns their errors.
func Run(input io.Reader, flush time.Duration, sinks ...Sink) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 4<<10), longestLine)
	for lines.Scan() {
		var e event.Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		for _, s := range sinks {
			s.Take(e)
		}
	}
	err := lines.Err()
	if err != nil {
		err = fmt.Errorf("read events: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), flush, fmt.Errorf("not finished within %s", flush))
	defer cancel()
	errs := make([]error, len(sinks))
	var closing sync.WaitGroup
	for i, s := range sinks {
		closing.Go(func() { errs[i] = s.Close(ctx) })
	}
	closing.Wait()
	return errors.Join(append(errs, err)...)
}

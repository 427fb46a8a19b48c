//go:build linux

package record

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// First notes the first output of one rank in an attempt.
type First struct {
	log    *Log
	worker string
	rank   int
	label  string // of a process without a rank
	came   atomic.Bool
}

// First returns a First for a rank; label is for a process without one.
func (l *Log) First(worker string, rank int, label string) *First {
	if l == nil {
		return nil
	}
	if rank >= 0 {
		label = ""
	}
	return &First{log: l, worker: worker, rank: rank, label: label}
}

// Hear returns a writer that passes one of the rank's streams on. nil stays nil.
func (f *First) Hear(to io.WriteCloser) io.WriteCloser {
	if f == nil || to == nil {
		return to
	}
	return &heard{to, f}
}

type heard struct {
	io.WriteCloser
	first *First
}

// Write implements io.Writer. After the first output it costs one load, and allocates nothing.
func (h *heard) Write(p []byte) (int, error) {
	if !h.first.came.Load() && len(p) > 0 && h.first.came.CompareAndSwap(false, true) {
		h.first.log.Rank(time.Now(), event.FirstLine, h.first.worker, h.first.rank, h.first.label)
	}
	return h.WriteCloser.Write(p)
}

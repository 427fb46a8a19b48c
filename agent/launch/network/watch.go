package network

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/notice"
	"github.com/musterhq/muster/rendezvous"
)

// Fallback is a worker on which NCCL uses sockets.
type Fallback struct {
	Worker  string
	Network string // as NCCL calls it: "NET/Socket"
	Because string // what NCCL printed about RDMA before; "" if nothing
}

// Sentence describes the fallback.
func (f Fallback) Sentence() string {
	return fmt.Sprintf("NCCL fell back to sockets on %s (%s); asked for RDMA", f.Worker, f.Network)
}

// Hint says what NCCL printed, and what to look at.
func (f Fallback) Hint() string {
	printed := "NCCL printed that itself"
	if f.Because != "" {
		printed = "NCCL printed: " + strings.TrimSuffix(f.Because, ".")
	}
	return printed + "; check the pod's RDMA devices and IPC_LOCK, and NCCL_IB_HCA, NCCL_IB_DISABLE and NCCL_NET"
}

// Watch notices fallbacks in one attempt. A nil Watch, for runs that did not ask for RDMA, does
// nothing.
type Watch struct {
	// Required says that the run must not continue without RDMA.
	Required bool

	workers []rendezvous.Worker
	news    chan struct{}
	mu      sync.Mutex
	first   *Fallback
	named   bool
}

// New returns the watch over an attempt with these workers. It returns nil if the run did not ask for
// RDMA, neither by --require-rdma nor by the devices of its pods, or if it has a single worker.
func New(workers []rendezvous.Worker, required bool) *Watch {
	if len(workers) < 2 || !required && !slices.ContainsFunc(workers, func(w rendezvous.Worker) bool { return w.RDMA > 0 }) {
		return nil
	}
	return &Watch{Required: required, workers: workers, news: make(chan struct{}, 1)}
}

// Must reports whether the output has to pass through the launcher for this.
func (w *Watch) Must() bool { return w != nil && w.Required }

// Hear returns a writer that reads one stream of a process on this worker, passes it on to the given
// one, and closes that. nil means that the stream is not shown.
func (w *Watch) Hear(worker string, to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	return heard{notice.NewNetworkReader(true, func(n notice.Network) { w.note(worker, n) }), to}
}

// Mixed returns a writer that reads the output of a command whose ranks are on all workers.
func (w *Watch) Mixed() io.WriteCloser {
	if w == nil {
		return nowhere{io.Discard}
	}
	return notice.NewNetworkReader(false, func(n notice.Network) { w.note(w.workerOf(n.Host), n) })
}

// workerOf returns the worker with the host name that NCCL prints, which ends before the first dot.
func (w *Watch) workerOf(host string) string {
	i := slices.IndexFunc(w.workers, func(one rendezvous.Worker) bool {
		name, _, _ := strings.Cut(one.Hostname, ".")
		return name == host || one.Name == host
	})
	if i < 0 {
		return host
	}
	return w.workers[i].Name
}

func (w *Watch) note(worker string, n notice.Network) {
	asked := w.Required || !slices.ContainsFunc(w.workers, func(one rendezvous.Worker) bool { return one.Name == worker && one.RDMA == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named = true
	if !n.Sockets || !asked || w.first != nil {
		return
	}
	w.first = &Fallback{worker, n.Name, n.Because}
	w.news <- struct{}{} // once: there is room
}

// Told returns a channel with a token when there is a Fallback.
func (w *Watch) Told() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.news
}

// Fallback returns the first fallback.
func (w *Watch) Fallback() (f Fallback, found bool) {
	if w == nil {
		return f, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		return f, false
	}
	return *w.first, true
}

// Unchecked reports whether the run depends on RDMA, but NCCL has named no network.
func (w *Watch) Unchecked() bool {
	if !w.Must() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.named
}

// heard reads a stream and passes it on.
type heard struct {
	reader *notice.NetworkReader
	to     io.WriteCloser // nil: it is not shown
}

// Write implements io.Writer.
func (h heard) Write(p []byte) (int, error) {
	_, _ = h.reader.Write(p) // it never fails
	if h.to == nil {
		return len(p), nil
	}
	return h.to.Write(p)
}

// Close implements io.Closer.
func (h heard) Close() error {
	err := h.reader.Close()
	if h.to != nil {
		err = errors.Join(err, h.to.Close())
	}
	return err
}

// nowhere discards everything.
type nowhere struct{ io.Writer }

// Close implements io.Closer.
func (nowhere) Close() error { return nil }

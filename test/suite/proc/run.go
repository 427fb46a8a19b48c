//go:build linux

package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Output collects what a process writes. Other goroutines may read it, or wait for a part of it, meanwhile.
type Output struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	more   chan struct{} // closed and replaced at every write
	closed bool
}

// NewOutput returns an empty Output.
func NewOutput() *Output { return &Output{more: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tell()
	return o.buf.Write(p)
}

// tell wakes all waiters. The caller holds mu.
func (o *Output) tell() {
	close(o.more)
	o.more = make(chan struct{})
}

// Close marks the output as complete.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.tell()
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Await waits until text has been written. It returns an error if the output is closed first, or the time limit is
// reached.
func (o *Output) Await(text string, within time.Duration) error {
	limit := time.After(within)
	for {
		o.mu.Lock()
		have, more, closed := strings.Contains(o.buf.String(), text), o.more, o.closed
		o.mu.Unlock()
		if have {
			return nil
		}
		if closed {
			return fmt.Errorf("it ended without saying %q", text)
		}
		select {
		case <-more:
		case <-limit:
			return fmt.Errorf("it did not say %q within %s", text, within)
		}
	}
}

// Code returns the exit code of a process that has ended, or 128+n if signal n has ended it.
func Code(state *os.ProcessState) int {
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// Environment returns our environment without variables that change Muster or an MPI, and without variables whose
// names begin with one of also. The programs of bin come first in PATH.
func Environment(bin string, also ...string) []string {
	also = append(also, "MUSTER_", "OMPI_", "PRTE_", "PMIX_", "HYDRA_", "MPICH_", "MPIR_", "MPIEXEC_", "I_MPI_", "KUBECONFIG", "KUBERNETES_")
	var env []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			kv = "PATH=" + bin + ":" + value
		}
		if !slices.ContainsFunc(also, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			env = append(env, kv)
		}
	}
	return env
}

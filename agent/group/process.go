package group

import (
	"context"
	"io"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/wire"
)

// Opener opens sessions on one worker. It returns at once; Wait reports later failures.
type Opener interface {
	// Open starts the process. Its output goes to stdout and stderr.
	Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (Session, error)
}

// Session is a process on a worker. An error of Wait means that the worker was lost, or that ctx
// has ended. If Wait succeeds, every byte of output has been written. A Session with a method
// Signal(int) gets the signals that are passed on. A Session with a method Then(func()) bool, which
// has its argument called when Wait would return at once, needs no goroutine while its process runs.
// A Session with a method Confirmed(func()) bool has its argument called when its worker has taken it;
// mostOpening limits how many have not been.
type Session interface {
	// Wait returns the exit record once the process has ended.
	Wait(ctx context.Context) (wire.ExitRecord, error)
	// Stop asks the process and its children to end; a KILL follows after grace.
	Stop(grace time.Duration)
}

// Process is one process of the group.
type Process struct {
	Label  string // name in sentences: "rank 3", "ps 0"
	Worker string // name of the worker
	Opener Opener
	Spec   wire.Spec
	Role   string // adjacent processes of one role that serve are stopped together
	Part   framework.Part
	After  string // "host:port"; see framework.Process
	// Stdout and Stderr are closed when the process has ended; nil: discarded.
	Stdout, Stderr io.WriteCloser
}

// Config configures a Group. A zero duration means none, unless the field says otherwise.
type Config struct {
	Processes []Process
	Any       bool // see framework.Launch
	// Grace is the time between TERM and KILL when the group is told to stop or has succeeded.
	// FailGrace is the same after a failure.
	Grace, FailGrace time.Duration
	// Last is a worker whose processes are told last when the group is told to stop, with the rest
	// of Grace. They serve all others, like torchrun's store. "" means none. Ask asks only the
	// ranks of that worker to end, at once; it does not wait.
	Last string
	Ask  func(worker string, grace time.Duration)
	// Linger is how long the other processes may take to end by themselves when the first success
	// is enough; 0: Grace.
	Linger time.Duration
	// Calm, if set, is called when the group has failed. It returns true if a worker is being
	// removed. The program is then not at fault, and the other processes have Grace to save their
	// work.
	Calm func() bool
	// Patience is how long a process waits for its address; 0: 5 min.
	Patience time.Duration
	// Dial tries an address; nil: by TCP, from this process.
	Dial func(ctx context.Context, address string) error
	// Release, if set, is called when a process was given up. Writes to the processes' writers that
	// wait for a reader must then return, because Run waits for them.
	Release func()
	// OnWait, if set, is called when a process has waited for its address for a while. It is called
	// from several goroutines.
	OnWait func(label, address string, soFar time.Duration)
	// Witness, if set, is called for the first failure, and for later ones before the cause is
	// determined, from Run's goroutine. It returns nil if a failure says nothing about the other
	// processes. Otherwise it is not called again, and the others are not stopped until the channel
	// is closed, or until WitnessTime has passed.
	Witness     func(ctx context.Context, f Failure) <-chan struct{}
	WitnessTime time.Duration
	// OnFailure, if set, is called once with the cause, before the other processes are stopped.
	OnFailure func(cause Failure, others int)
	// OnEnd, if set, is called for each process that ended. failed means that it failed by itself.
	// It is called from Run's goroutine, like OnFailure.
	OnEnd func(end End, failed bool)
}

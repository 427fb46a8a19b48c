package group

import (
	"context"
	"io"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/wire"
)

// Opener opens sessions on one worker. It returns at once: what goes wrong later
// is for Wait to say.
type Opener interface {
	Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (Session, error)
}

// Session is a process that runs on a worker. Wait's error means that the worker
// was lost, or ctx's end; without one every byte of output has been written. One
// that has a method Signal(int) gets the signals that are passed on.
type Session interface {
	Wait(ctx context.Context) (wire.ExitRecord, error)
	Stop(grace time.Duration)
}

// Member is one process of the group.
type Member struct {
	Label  string // in sentences: "rank 3", "ps 0"
	Worker string // the worker's name
	Opener Opener
	Spec   wire.Spec
	Role   string // neighbours of one role that serve are stopped together
	Part   framework.Part
	After  string // "host:port"; see framework.Process
	// Stdout and Stderr are closed when the process has ended; nil: discarded.
	Stdout, Stderr io.WriteCloser
}

// Config of a Group; zero durations mean none, but for Patience.
type Config struct {
	Members []Member
	Any     bool // see framework.Launch
	// Grace lies between TERM and KILL when the group is told to stop or has
	// succeeded, FailGrace when it has failed.
	Grace, FailGrace time.Duration
	// Last is a worker whose processes are told last when the group is told to stop, with what
	// is left of Grace: they serve all others, as torchrun's store does; "": none. Ask asks the
	// ranks of that worker to end at once, and nobody else there; it does not wait.
	Last string
	Ask  func(worker string, grace time.Duration)
	// Linger is how long the others may end by themselves when the first one is
	// enough; 0: Grace.
	Linger time.Duration
	// Calm, if set, is asked when the group has failed: true when a worker is being
	// taken away. Nothing is wrong then, and the rest has Grace to save its work.
	Calm func() bool
	// Patience is how long a member waits for its address; 0: 5 min.
	Patience time.Duration
	// Dial tries an address; nil: by TCP, from here.
	Dial func(ctx context.Context, address string) error
	// Release, if set, is called when a process was given up: writes to the members'
	// writers that wait for a reader must end. Run waits for them.
	Release func()
	// OnWait, if set, is called when a member has waited for its address for a
	// while; from several goroutines.
	OnWait func(label, address string, soFar time.Duration)
	// Witness, if set, is called once when the group has failed, from Run's goroutine. The
	// rest is not stopped until the channel is closed, or WitnessTime has passed since.
	Witness     func(ctx context.Context) <-chan struct{}
	WitnessTime time.Duration
	// OnFailure, if set, is called once with the cause, before the rest is stopped.
	OnFailure func(cause Failure, others int)
	// OnEnd, if set, is called for each process that ended; failed: badly, and
	// not by our doing. It is called from Run's goroutine, as OnFailure.
	OnEnd func(end End, failed bool)
}

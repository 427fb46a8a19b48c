package group

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/wire"
)

// End is how one process ended.
type End struct {
	Member int             // index
	Exit   wire.ExitRecord // when Err is nil
	Err    error           // the worker was lost, or the session could not be opened
	At     time.Time       // by the worker's clock where it told, else by ours
	Asked  time.Time       // when we told it to stop; zero: we did not
	ours   bool            // it was told, or not to be started any more
	late   bool            // what it waited for never came
}

// Failure is the end of a process that failed.
type Failure struct {
	End
	Label, Worker string
	Tail          []string // its last lines on stderr, bounded
	// Beside are other failures that came with the cause: a process whose peer has given up
	// may end a moment before that peer.
	Beside []Failure
}

// bad: it did not end well. A process that ends with 0 because its worker was
// told to stop has not done its work.
func (e End) bad() bool {
	return e.Err != nil || e.Exit.Code != 0 || e.Exit.Failed != nil || e.Exit.Error != "" || e.Exit.Reason != "" && e.Exit.Reason != wire.ReasonStopped
}

// Code is the exit code that stands for the failure: the process's own, 128+n for
// a signal, 75 where what it waited for never came, 76 where its worker was lost.
func (e End) Code() int {
	switch {
	case e.late:
		return names.ExitDeadline
	case e.Err != nil:
		return names.ExitHopeless
	case e.Exit.Code == 0 && e.Exit.Reason != "":
		return names.ExitHopeless
	case e.Exit.Code == 0 && e.Exit.Failed != nil && e.Exit.Failed.Code > 0:
		return e.Exit.Failed.Code
	case e.Exit.Code < 1 || e.Exit.Code > 255:
		return 1
	}
	return e.Exit.Code
}

// Sentence names the process, its worker and its end.
func (f Failure) Sentence() string {
	who := f.Label + " on " + f.Worker
	x := f.Exit
	switch {
	case f.late:
		return fmt.Sprintf("%s was not started: %v", who, f.Err)
	case f.Err != nil:
		return fmt.Sprintf("%s: %v", who, f.Err)
	case x.Error != "":
		return fmt.Sprintf("%s could not be started: %s", who, x.Error)
	case x.Reason == wire.ReasonPreempted:
		return who + " was ended because its worker was told to stop from outside"
	case x.Reason != "":
		return fmt.Sprintf("%s was ended: %s", who, x.Reason)
	case x.OOM > 0 && x.Signal == int(syscall.SIGKILL):
		return who + " was killed by SIGKILL: the kernel killed a process there for its memory (OOM)"
	case x.Signal != 0:
		return who + " was killed by " + proc.SignalName(syscall.Signal(x.Signal))
	case x.Code == 0 && x.Failed != nil && x.Failed.Signal != 0:
		return fmt.Sprintf("%s said 0, but %s, which it started as rank %s, was killed by %s", who, x.Failed.Command, x.Failed.Rank, proc.SignalName(syscall.Signal(x.Failed.Signal)))
	case x.Code == 0 && x.Failed != nil:
		return fmt.Sprintf("%s said 0, but %s, which it started as rank %s, exited with %d", who, x.Failed.Command, x.Failed.Rank, x.Failed.Code)
	}
	return fmt.Sprintf("%s exited with %d", who, x.Code)
}

// settleTime is how long failures that come together may take to reach us: the
// peers of a process that dies fail within moments, and may be nearer.
const settleTime = time.Second

// cause picks the first failure in time, and of those within settleTime of it
// the likeliest; failures is not empty.
func cause(failures []End) End {
	list := slices.Clone(failures)
	slices.SortStableFunc(list, func(a, b End) int { return a.At.Compare(b.At) })
	limit := list[0].At.Add(settleTime)
	near := slices.DeleteFunc(list, func(e End) bool { return e.At.After(limit) })
	return slices.MinFunc(near, func(a, b End) int { return cmp.Compare(a.aftermath(), b.aftermath()) })
}

// aftermath is lower for ends that are likelier a cause: a lost worker or a
// command that is not there follows from no peer's end, nor does a crash or a KILL,
// though a busy machine may collect it after them; an exit code may; and a process
// that aborts (gloo, JAX, Horovod do) or is told to end often does.
func (e End) aftermath() int {
	signal := syscall.Signal(e.Exit.Signal)
	if signal == 0 && e.Exit.Code > 128 { // as a shell tells it
		signal = syscall.Signal(e.Exit.Code - 128)
	}
	switch {
	case e.late:
		return 4
	case e.Err != nil || e.Exit.Error != "":
		return 0
	case signal == syscall.SIGABRT || signal == syscall.SIGTERM:
		return 3
	case slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE}, signal):
		return 1
	}
	return 2
}

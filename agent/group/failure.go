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
	Process int             // index
	Exit    wire.ExitRecord // when Err is nil
	Err     error           // the worker was lost, or the session could not be opened
	At      time.Time       // by the worker's clock if it reported a time that has passed, else by ours
	Asked   time.Time       // when we told it to stop; zero if we did not
	ours    bool            // we told it to stop, or decided not to start it
	late    bool            // the address that it waited for never answered
}

// Failure is the end of a process that failed.
type Failure struct {
	End
	Label, Worker string
	Tail          []string // its last lines on stderr, limited
	// Beside lists other failures at the same time. A process whose peer has given up may end a
	// moment before that peer.
	Beside []Failure
}

// bad reports whether it failed. A process that exits with 0 because its worker was told to stop
// has not done its work.
func (e End) bad() bool {
	return e.Err != nil || e.Exit.Code != 0 || e.Exit.Failed != nil || e.Exit.Error != "" || e.Exit.Reason != "" && e.Exit.Reason != wire.ReasonStopped
}

// Code returns the exit code for the failure: that of the process, or 128+n for a signal. It is 75
// if the address that the process waited for never answered, and 76 if its worker was lost.
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

// Sentence names the process, its worker and how it ended.
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
		return fmt.Sprintf("%s exited with 0, but %s, which it started as rank %s, was killed by %s", who, x.Failed.Command, x.Failed.Rank, proc.SignalName(syscall.Signal(x.Failed.Signal)))
	case x.Code == 0 && x.Failed != nil:
		return fmt.Sprintf("%s exited with 0, but %s, which it started as rank %s, exited with %d", who, x.Failed.Command, x.Failed.Rank, x.Failed.Code)
	}
	return fmt.Sprintf("%s exited with %d", who, x.Code)
}

// settleTime is how long to wait for further failures after the first. The peers of a process that
// dies fail moments later, and their reports may arrive earlier.
const settleTime = time.Second

// cause returns the first failure in time or, of the failures within settleTime of it, the most
// likely cause. failures is not empty.
func cause(failures []End) End {
	list := slices.Clone(failures)
	slices.SortStableFunc(list, func(a, b End) int { return a.At.Compare(b.At) })
	limit := list[0].At.Add(settleTime)
	near := slices.DeleteFunc(list, func(e End) bool { return e.At.After(limit) })
	return slices.MinFunc(near, func(a, b End) int { return cmp.Compare(a.aftermath(), b.aftermath()) })
}

// outlivedAfter is how long a process may take to fail because it has lost a peer. By default,
// torchrun and NCCL wait 10 minutes for one.
const outlivedAfter = 15 * time.Minute

// notOutlived returns the failures after the last pause of outlivedAfter, in time.
func notOutlived(failures []End) []End {
	list := slices.Clone(failures)
	slices.SortStableFunc(list, func(a, b End) int { return a.At.Compare(b.At) })
	for i := len(list) - 1; i > 0; i-- {
		if list[i].At.Sub(list[i-1].At) > outlivedAfter {
			return list[i:]
		}
	}
	return list
}

// aftermath returns a lower number for an end that is more likely a cause. A lost worker or a
// missing command never follows from the end of a peer. Neither does a crash or a KILL, though a
// busy machine may collect its exit code later. An exit code may follow from one. A process that
// aborts (like gloo, JAX, Horovod) or is told to end often does.
func (e End) aftermath() int {
	signal := syscall.Signal(e.Exit.Signal)
	if signal == 0 && e.Exit.Code > 128 { // as a shell reports it
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

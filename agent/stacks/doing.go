package stacks

import (
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/exec/wire"
)

// Rank is a process of the job, and where it is.
type Rank struct {
	Name   string // "rank 3"
	Number int    // -1: it has none
	Worker string
	Record wire.StackRecord
	stack  []Thread // Python threads
	native []Thread // C threads, the main thread first
}

// New returns a rank with the stack in its record.
func New(name string, number int, worker string, rec wire.StackRecord) Rank {
	r := Rank{Name: name, Number: number, Worker: worker, Record: rec, native: ParseNative(rec.Native)}
	if r.stack = Parse(rec.Text); rec.By != "" {
		r.stack = ParsePySpy(rec.Text)
	}
	return r
}

// Why returns the reason why the rank has no stack, or "" if it has one.
func (r Rank) Why() string { return visible(r.Record.Why) }

// activity is what a rank does at the moment.
type activity int

const (
	unknown activity = iota
	waits            // for other ranks: in a collective, or for a socket
	left             // waits for a peer that has gone
	sleeps           // until a point in time
	locked           // waits for a lock, or C code that waits
	reads            // from a pipe or a file
	stuck            // in the kernel, uninterruptible
	computes
	stopped // by a signal
)

// doing returns what a rank does, also in words: "waiting in all_reduce".
func (r Rank) doing() (activity, string) {
	p := r.Record.Process
	switch {
	case p.State == "T":
		return stopped, "stopped, as by SIGSTOP"
	case p.PeerClosed:
		return left, "waiting for " + p.Peer + ", which has closed the connection"
	case p.PeerUnheard:
		return left, "waiting for " + p.Peer + ", where nothing listens"
	}
	if name := collective(r.stack); name != "" {
		return waits, "waiting in " + name
	}
	if r.Record.MPICall != "" {
		return waits, "waiting in MPI " + visible(r.Record.MPICall)
	}
	if a, words := library(main(r.stack), p.Call); a != unknown {
		return a, words
	}
	if name := r.inMPI(); name != "" {
		return waits, "waiting in " + name
	}
	return r.inCall()
}

// polls are system calls that wait for any of several sockets or files.
var polls = []string{"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"}

// inCall decides by the system call alone.
func (r Rank) inCall() (activity, string) {
	p := r.Record.Process
	call := p.Call
	switch {
	case p.State == "D":
		return stuck, "sleeping in the kernel, uninterruptible"
	case p.State == "R" && r.Record.MPI:
		return unknown, "running: computing, or polling in MPI"
	case p.State == "R":
		return computes, "running"
	case slices.Contains([]string{"clock_nanosleep", "nanosleep", "pause", "rt_sigsuspend", "rt_sigtimedwait"}, call):
		return sleeps, "sleeping"
	case p.Peer != "":
		return waits, "waiting for " + p.Peer
	case slices.Contains([]string{"recvfrom", "recvmsg", "recvmmsg", "accept", "accept4", "connect"}, call):
		return waits, "waiting for a socket"
	case r.Record.MPI && slices.Contains(polls, call):
		return unknown, "polling, in MPI or elsewhere"
	case slices.Contains(polls, call):
		return waits, "waiting for sockets or files"
	case slices.Contains([]string{"read", "readv", "pread64", "preadv", "openat"}, call):
		return reads, "reading from a pipe or a file"
	case call == "futex":
		return locked, "waiting for a lock"
	case call != "":
		return unknown, "in " + call
	}
	return unknown, "in state " + p.State
}

// waiting are the files of libraries in whose functions a rank waits for others.
var waiting = []string{
	"torch/distributed/distributed_c10d.py", "torch/distributed/c10d_logger.py", "torch/distributed/rendezvous.py",
	"torch/distributed/_functional_collectives.py", "torch/distributed/nn/functional.py", "deepspeed/comm/comm.py", "deepspeed/comm/torch.py",
	"horovod/torch/mpi_ops.py", "horovod/tensorflow/mpi_ops.py", "horovod/common/basics.py",
	"jax/_src/distributed.py", "jax/experimental/multihost_utils.py", "jax/_src/array.py",
	"mpi4py/util/", "tensorflow/python/distribute/cross_device_ops.py",
}

// collective returns the function of such a library that the user's program has called, in any
// thread, or "". Only the user's own code may call it.
func collective(threads []Thread) string {
	for _, t := range threads {
		name := ""
		for _, f := range t.Frames {
			switch known := slices.ContainsFunc(waiting, func(file string) bool { return strings.Contains(f.File, "/"+file) }); {
			case known && f.Func != "wrapper":
				name = f.Func
				continue
			case known || isLibrary(f.File):
				continue
			}
			break
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// library decides by the modules of Python and PyTorch in the stack of the main thread.
func library(frames []Frame, call string) (activity, string) {
	for _, f := range frames {
		if !isLibrary(f.File) {
			break
		}
		dir, file := path.Base(path.Dir(f.File)), path.Base(f.File)
		switch {
		case dir == "multiprocessing":
			return reads, "waiting for a helper of its own"
		case file == "socket.py" || file == "ssl.py" || file == "selectors.py":
			return waits, "waiting for a socket"
		case file == "threading.py" || file == "queue.py" || dir == "futures":
			return locked, "waiting for a thread of its own"
		case file == "subprocess.py":
			return reads, "waiting for a program of its own"
		case (dir == "autograd" || dir == "cuda") && strings.Contains(f.File, "/torch/") && call != "":
			return waits, "waiting in " + f.Func
		}
	}
	return unknown, ""
}

// at returns the place in the rank's own code, " at train.py:31 load_batch", or "" if not known.
func (r Rank) at() string {
	frames := main(r.stack)
	if len(frames) == 0 {
		frames = r.nativeMain()
	}
	switch f, ok := own(frames); {
	case !ok:
		return ""
	case f.File == "":
		return " in " + f.Func
	default:
		return " at " + f.String()
	}
}

// where says what it does, and at which line.
func (r Rank) where() string {
	_, words := r.doing()
	return words + r.at()
}

// on returns "rank 3 on pi-worker-1".
func (r Rank) on() string { return r.Name + " on " + r.Worker }

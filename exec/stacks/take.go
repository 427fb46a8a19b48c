//go:build linux

package stacks

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// MostText is the limit of one process's text in bytes; with base64 it fits a record.
const MostText = 40 << 10

// Stack is the result of Take for one process.
type Stack struct {
	Text []byte // as faulthandler or py-spy wrote it; the process may have written anything
	// Native is the output of eu-stack or gdb, in place of Text. The process chose the names in it.
	Native []byte
	By     string // the program of the image that printed it; "": the process itself
	Why    string // why there is neither
	// OnRequest means that gdb exists, but Slow did not allow it.
	OnRequest bool
	// Returned means that the first thread has run Python since the last [Nudge].
	Returned bool
}

const (
	pollTime   = 2 * time.Millisecond
	settleTime = 40 * time.Millisecond // no more bytes arrive in this time: the handler is done
	lifeTime   = 20 * time.Millisecond // between checks whether a silent process lives
)

// Take asks all of procs for their stacks at once. It returns when all have answered, or when ctx
// ends. It asks processes that share a file one after the other.
func Take(ctx context.Context, procs []reap.Proc) []Stack {
	taken := make([]Stack, len(procs))
	shared := map[[2]uint64][]job{}
	for i, p := range procs {
		f, id, why := registered(p)
		if f == nil {
			taken[i].Why = why
			continue
		}
		defer f.Close()
		shared[id] = append(shared[id], job{i, p, f})
	}
	var all sync.WaitGroup
	for _, jobs := range shared {
		all.Go(func() {
			for _, j := range jobs {
				taken[j.index] = j.take(ctx)
			}
		})
	}
	all.Wait()
	return taken
}

// job is a process that can be asked, and its file.
type job struct {
	index int
	proc  reap.Proc
	file  *os.File
}

func (j job) take(ctx context.Context) Stack {
	before, err := j.file.Stat()
	if err != nil {
		return Stack{Why: err.Error()}
	}
	// It may have become another program while others were asked, which the signal would kill.
	again, _, why := registered(j.proc)
	if again == nil {
		return Stack{Why: why}
	}
	again.Close()
	if err := reap.Signal(j.proc, Signal); err != nil {
		return Stack{Why: whyNot(err)}
	}
	size, since := before.Size(), time.Now()
	looked := since
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = true
		}
		now, err := j.file.Stat()
		if err != nil {
			return Stack{Why: err.Error()}
		}
		if now.Size() != size {
			size, since = now.Size(), time.Now()
		}
		if size == before.Size() && time.Since(looked) >= lifeTime {
			looked, ended = time.Now(), ended || !j.lives()
		}
		ended = ended || size > before.Size() && (time.Since(since) >= settleTime || size-before.Size() > MostText)
	}
	if size <= before.Size() {
		return Stack{Why: j.silent()}
	}
	returned := before.Size() > 0
	text := make([]byte, min(size-before.Size(), MostText))
	n, err := j.file.ReadAt(text, before.Size())
	if n == 0 && err != nil {
		return Stack{Why: err.Error()}
	}
	_ = j.file.Truncate(0) // otherwise its memory stays in use until the process ends
	return Stack{Text: text[:n], Returned: returned || bytes.Contains(text[:n], []byte(returnedLine))}
}

// returnedLine is what the module writes on ReturnSignal.
const returnedLine = "\nreturned\n"

// Nudge makes a process report when its first thread runs Python, which [Take] returns. Nudge
// returns false if the process cannot report it.
func Nudge(p reap.Proc) bool {
	f, _, _ := registered(p)
	if f == nil {
		return false
	}
	f.Close()
	var buf bytes.Buffer
	if err := reap.ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", &buf); err != nil || !catches(buf.Bytes(), ReturnSignal) {
		return false
	}
	return reap.Signal(p, ReturnSignal) == nil
}

// lives reports whether the process has not ended.
func (j job) lives() bool {
	var buf bytes.Buffer
	p, err := reap.Stat(j.proc.PID, &buf)
	return err == nil && p.Start == j.proc.Start && p.Alive()
}

// silent says why a process has not answered.
func (j job) silent() string {
	var buf bytes.Buffer
	p, err := reap.Stat(j.proc.PID, &buf)
	switch {
	case err != nil || !j.lives():
		return hasEnded
	case p.State == 'D':
		return "state D: it cannot be interrupted"
	}
	return "no answer in time"
}

const hasEnded = "it has ended"

func whyNot(err error) string {
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return hasEnded
	case errors.Is(err, unix.EPERM):
		return notPermitted
	}
	return err.Error()
}

const notPermitted = "not permitted: another user's process"

// registered opens the file of a process that answers the signal. Without a file, why is the
// reason.
func registered(p reap.Proc) (f *os.File, id [2]uint64, why string) {
	base := "/proc/" + strconv.Itoa(p.PID)
	if p.State == 'T' || p.State == 't' {
		return nil, id, "state " + string(p.State) + ": a stopped process does not answer"
	}
	var buf bytes.Buffer
	if err := reap.ReadFile(base+"/status", &buf); err != nil {
		return nil, id, hasEnded
	}
	if !catches(buf.Bytes(), Signal) {
		return nil, id, unregistered(base, p.Comm)
	}
	f, id, err := openFile(base)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, id, notPermitted
		}
		return nil, id, unregistered(base, p.Comm)
	}
	return f, id, ""
}

// catches reports whether the process with that status has a handler for sig.
func catches(status []byte, sig syscall.Signal) bool {
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("SigCgt:")); ok {
			set, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			return err == nil && set&(1<<(sig-1)) != 0
		}
	}
	return false
}

// unregistered says why a process has no handler.
func unregistered(base, comm string) string {
	if runsPython(base, comm) {
		return "no faulthandler: Python with -I, -E or -S, with another PYTHONPATH, or before 3.8"
	}
	return "not Python"
}

// Descriptor numbers at which the module keeps its file, in its order.
const (
	firstNumber = 240
	lastNumber  = 200
)

var errNoFile = errors.New("no file for the stacks")

// openFile opens the file that the module of the process below base has created, and returns its
// inode. The process may have replaced it by anything.
func openFile(base string) (*os.File, [2]uint64, error) {
	for n := firstNumber; n >= lastNumber; n-- {
		number := strconv.Itoa(n)
		path, name := base+"/fd/"+number, "/memfd:muster-stacks-"+number+" (deleted)"
		link, err := os.Readlink(path)
		switch {
		case errors.Is(err, os.ErrPermission):
			return nil, [2]uint64{}, err
		case err != nil || link != name:
			continue
		}
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, [2]uint64{}, err
		}
		f := os.NewFile(uintptr(fd), name)
		id, err := check(fd, name)
		if err != nil {
			return nil, id, errors.Join(err, f.Close())
		}
		return f, id, nil
	}
	return nil, [2]uint64{}, errNoFile
}

// check reports whether an open file is a memfd of that name.
func check(fd int, name string) (id [2]uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return id, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0 {
		return id, errNoFile
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil {
		return id, errNoFile // not a memfd
	}
	if link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err != nil || link != name {
		return id, errNoFile
	}
	return [2]uint64{uint64(st.Dev), st.Ino}, nil
}

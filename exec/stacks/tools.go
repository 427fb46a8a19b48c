//go:build linux

package stacks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// Outside asks programs of the image for the stacks of processes that do not report them: py-spy
// for Python, eu-stack and gdb for any process.
type Outside struct {
	Reaper *reap.Reaper // starts and collects the programs
	// Slow allows gdb. It stops all threads of a process until it has read the symbols of all
	// libraries, which may take minutes.
	Slow bool
}

// mostOutside limits the programs that run at the same time, because they use the ranks'
// processors.
const mostOutside = 4

// program prints the stacks of a process on standard output.
type program struct {
	name   string
	python bool // it supports only Python, and prints Python frames
	holds  bool // it stops the process for a while
	traps  bool // a process that calls execve(2) while it attaches dies of SIGTRAP
	slow   bool
	sign   string // text that any output with a stack contains
	args   func(pid string) []string
}

// programs are the known programs, the best one first.
var programs = []program{
	{name: "py-spy", python: true, sign: "\nThread ", args: func(pid string) []string {
		return []string{"dump", "--nonblocking", "--full-filenames", "--pid", pid}
	}},
	{name: "eu-stack", holds: true, traps: true, sign: "\n#0 ", args: func(pid string) []string {
		return []string{"-m", "-s", "-p", pid}
	}},
	{name: "gdb", holds: true, slow: true, sign: "\n#0 ", args: func(pid string) []string {
		return []string{"-p", pid, "-batch", "-nx", "-ex", "thread apply all -ascending bt 64"}
	}},
}

// choice is what can be done for one process.
type choice struct {
	use  []program
	path []string // of each program
	why  string   // why there is no program, or not every one
	slow bool     // Slow would add one
}

// Take is the function Take, and asks programs of the image for the stacks that are then missing.
// It returns soon after ctx has ended, and leaves no program running.
func (o Outside) Take(ctx context.Context, procs []reap.Proc) []Stack {
	choices := o.chooseAll(ctx, procs)
	first, stop := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok && slices.ContainsFunc(choices, func(c choice) bool { return len(c.use) > 0 }) {
		first, stop = context.WithDeadline(ctx, end.Add(-time.Until(end)/2)) // leave time for a program if a process blocks the signal
	}
	defer stop()
	taken := Take(first, procs)
	var all sync.WaitGroup
	turn := make(chan struct{}, mostOutside)
	for i, p := range procs {
		switch c := choices[i]; {
		case taken[i].Why == "" || taken[i].Why == hasEnded:
		case len(c.use) == 0:
			taken[i].Why, taken[i].OnRequest = taken[i].Why+c.why, c.slow
		default:
			all.Go(func() {
				turn <- struct{}{}
				defer func() { <-turn }()
				taken[i] = o.ask(ctx, p, c, taken[i].Why)
			})
		}
	}
	all.Wait()
	return taken
}

// chooseTime is how long the directories of a PATH may take to answer.
const chooseTime = 250 * time.Millisecond

// chooseAll returns, for each process, which programs can be asked.
func (o Outside) chooseAll(ctx context.Context, procs []reap.Proc) []choice {
	ctx, stop := context.WithTimeout(ctx, chooseTime)
	defer stop()
	choices := make([]choice, len(procs))
	var all sync.WaitGroup
	for i, p := range procs {
		all.Go(func() {
			var ok bool
			if choices[i], ok = within(ctx, func() choice { return o.choose(p) }); !ok {
				choices[i] = choice{why: "; programs of the image: " + unreachable}
			}
		})
	}
	all.Wait()
	return choices
}

// choose returns which programs can be asked for the stacks of a process. It looks them up in our
// PATH, and in the PATH of a process that could gain no rights if we started a program of its own.
func (o Outside) choose(p reap.Proc) (c choice) {
	isPython := runsPython("/proc/"+strconv.Itoa(p.PID), p.Comm)
	var known, left []string
	status, refusal := refusedBy(p)
	execs := mayExec(p)
	paths := []string{os.Getenv("PATH")}
	if status.equal {
		paths = append(paths, pathOf(p))
	}
	for _, one := range programs {
		if one.python && !isPython {
			continue
		}
		known = append(known, one.name)
		path := find(one.name, paths)
		switch {
		case path == "":
		case refusal != "":
			return choice{why: "; " + one.name + ": " + refusal}
		case one.holds && status.tracer != "0":
			left = append(left, one.name+": another program traces it")
		case one.traps && execs != "":
			left = append(left, one.name+": "+execs)
		case one.slow && !o.Slow:
			c.slow, left = true, append(left, one.name+": only `agent stacks` asks it")
		default:
			c.use, c.path = append(c.use, one), append(c.path, path)
		}
	}
	switch {
	case len(left) > 0:
		c.why = "; " + strings.Join(left, "; ")
	case len(c.use) == 0:
		last := len(known) - 1
		c.why = ", and the image has no " + strings.Join(known[:last], ", ") + " or " + known[last]
	}
	return c
}

// ask makes the programs of c print the stacks of a process, until one succeeds. why is the reason
// why the process has not reported them itself.
func (o Outside) ask(ctx context.Context, p reap.Proc, c choice, why string) Stack {
	for i, one := range c.use {
		if ctx.Err() != nil {
			return Stack{Why: why + "; no time was left for " + one.name}
		}
		var buf bytes.Buffer
		now, err := reap.Stat(p.PID, &buf)
		if err != nil || now.Start != p.Start || !now.Alive() {
			return Stack{Why: hasEnded}
		}
		r := o.run(ctx, c.path[i], one.args(strconv.Itoa(p.PID)))
		if one.holds && !r.clean && now.State != 'T' {
			// It was killed between the SIGSTOP that it sent and its end, so the process would stay
			// stopped.
			_ = reap.Signal(p, syscall.SIGCONT)
		}
		switch found := bytes.Contains(append([]byte("\n"), r.out...), []byte(one.sign)); {
		case found && one.python:
			return Stack{Text: r.out, By: one.name}
		case found:
			return Stack{Native: r.out, By: one.name}
		}
		why += "; " + one.name + ": " + r.why
	}
	return Stack{Why: why + c.why, OnRequest: c.slow}
}

// soon is how old a process must be at least for a program that traps. Wrappers such as env and numactl, and
// children between fork(2) and execve(2), are younger.
const soon = time.Second

// shells are programs that often end with an execve(2), however old they are.
var shells = []string{"sh", "ash", "bash", "busybox", "dash", "ksh", "mksh", "zsh"}

// mayExec says why a process may call execve(2) at any moment, or returns "" if that is unlikely. PTRACE_ATTACH, without
// PTRACE_O_TRACEEXEC, makes the kernel send a SIGTRAP after execve(2) (ptrace(2)). eu-stack passes that signal on to the
// process, whose new program does not catch it.
func mayExec(p reap.Proc) string {
	exe, _ := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/exe")
	switch {
	case p.Age() < soon:
		return "the process has just started"
	case slices.Contains(shells, filepath.Base(exe)) || exe == "" && slices.Contains(shells, p.Comm):
		return "not used for a shell, which may start its program at any time"
	}
	return ""
}

// runsPython reports whether a process is Python, by its names.
func runsPython(base, comm string) bool {
	exe, _ := os.Readlink(base + "/exe") // if we may not read it, the name is enough
	return slices.ContainsFunc([]string{filepath.Base(exe), comm}, func(name string) bool {
		return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") || name == "pt_main_thread"
	})
}

// find looks up a program in lists of directories, and returns "" if none has it.
func find(name string, paths []string) string {
	for _, path := range paths {
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if !filepath.IsAbs(file) {
				continue
			}
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || unix.Access(file, unix.X_OK) != nil {
				continue
			}
			// If its file system does not answer, we block here, and not in the execve for which
			// the Reaper would wait.
			if f, err := os.Open(file); err == nil {
				f.Close()
			}
			return file
		}
	}
	return ""
}

// pathOf returns the PATH of a process.
func pathOf(p reap.Proc) string {
	var buf bytes.Buffer
	if reap.Environ(p.PID, &buf) != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(buf.Bytes(), []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte("PATH=")); ok {
			return string(value)
		}
	}
	return ""
}

//go:build linux

package reap

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// kind is the role of a process in a stop.
type kind int

const (
	plain    kind = iota // a rank or a helper
	launcher             // starts ranks, and ends them when it is told to end; or an MPI daemon
	shell                // passes no signal on, and runs its trap when the command in its foreground has ended
	wrapper              // runs another program, and has nothing to save
	pooled               // a process of Python's multiprocessing with its own interpreter
	tracker              // a multiprocessing tracker, which ends after its program
)

// The tables of this package are slices. Maps would be built at the start of each process of this
// program, and a waiting stub would keep them in memory.

var shells = []string{"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh"}

// wrappers are programs that stay while another runs, or that execve has not replaced yet.
var wrappers = []string{"timeout", "tini", "tini-static", "dumb-init", "catatonit", "nice", "ionice",
	"chrt", "numactl", "taskset", "env", "stdbuf", "nohup", "setsid", "time", "sudo", "su",
	"gosu", "setpriv", "unshare", "chroot", "strace", "script", "uv"}

// launchers are commands and modules, complete or as shortened by the kernel (15 bytes).
var launchers = []string{"orted", "prted", "prte", "prterun", "prun", "orterun", "mpirun", "mpiexec",
	"mpirun_rsh", "mpispawn", "hydra_pmi_proxy", "hydra_bstrap_pr", "pmi_proxy",
	"torchrun", "pt_elastic", "accelerate", "deepspeed", "horovodrun", "ray", "raylet", "gcs_server",
	"torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher", "accelerate.commands.launch",
	"accelerate.commands.accelerate_cli", "deepspeed.launcher.launch", "deepspeed.launcher.runner", "horovod.runner.launch"}

// remote are commands with which a launcher reaches other machines.
var remote = []string{"agent", "ssh", "rsh", "pdsh", "kubexec.sh"}

func kindOf(p Proc, argv func(Proc) []string) kind {
	stem, _, _ := strings.Cut(p.Comm, ".") // mpirun.openmpi, mpiexec.mpich
	switch {
	case slices.Contains(launchers, p.Comm), slices.Contains(launchers, stem):
		return launcher
	case slices.Contains(shells, p.Comm):
		return shell
	case slices.Contains(wrappers, p.Comm):
		return wrapper
	}
	words := argv(p)
	if len(words) == 0 {
		return plain
	}
	// A script has the name of its file, and its interpreter is the first word.
	switch interpreter := path.Base(words[0]); {
	case slices.Contains(shells, interpreter):
		return shell
	case strings.HasPrefix(interpreter, "python"), strings.HasPrefix(interpreter, "pypy"):
		return pythonKind(words[1:])
	}
	return plain
}

// IsLauncher reports whether a process is a launcher or an MPI daemon.
func IsLauncher(p Proc) bool {
	var buf bytes.Buffer
	return kindOf(p, func(p Proc) []string { return argvOf(p, &buf) }) == launcher
}

// pythonKind recognizes a Python program by what follows the interpreter: its module, its script or
// its code.
func pythonKind(argv []string) kind {
	for i := 0; i < len(argv); i++ {
		value := ""
		if i+1 < len(argv) {
			value = argv[i+1]
		}
		switch word := argv[i]; {
		case word == "-m":
			return launcherOr(value, plain)
		case word == "-c":
			return codeKind(value)
		case word == "-X" || word == "-W":
			i++
		case !strings.HasPrefix(word, "-"):
			return launcherOr(strings.TrimSuffix(path.Base(word), ".py"), plain)
		}
	}
	return plain
}

func launcherOr(name string, other kind) kind {
	if slices.Contains(launchers, name) {
		return launcher
	}
	return other
}

// codeKind recognizes the code with which multiprocessing starts an interpreter.
func codeKind(code string) kind {
	switch {
	case strings.Contains(code, "resource_tracker") || strings.Contains(code, "semaphore_tracker"):
		return tracker
	case strings.Contains(code, "multiprocessing.forkserver") || strings.Contains(code, "multiprocessing.spawn"):
		return pooled
	}
	return plain
}

// argvOf reads the arguments of a process. It returns nil if there are none, or if the process has
// ended.
func argvOf(p Proc, buf *bytes.Buffer) []string {
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/cmdline", buf) != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(buf.String(), "\x00"), "\x00")
}

// numbersOf reads the numbers of a process. If a process has overwritten its environment to change
// its title, the numbers of an earlier scan count.
func numbersOf(p Proc, buf *bytes.Buffer) Numbers {
	if Environ(p.PID, buf) == nil {
		if n := numbersIn(buf.Bytes()); n.some() {
			return n
		}
	}
	return p.Numbers
}

// answer is how a process reacts to a signal.
type answer int

const (
	dies    answer = iota // it dies at once, or we cannot find out
	ignores               // nothing
	handles               // it catches the signal, or blocks it to read it elsewhere
)

// loaderSignals are caught by a PyTorch DataLoader worker: its handlers report the end to the main
// process, and let the signal kill the worker. Python's faulthandler also catches SIGABRT, and a
// rank with UCX (MPICH) catches SIGILL: UCX_ERROR_SIGNALS.
const (
	loaderSignals = 1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGBUS-1) | 1<<(syscall.SIGSEGV-1) | 1<<(syscall.SIGFPE-1)
	noLoader      = 1<<(syscall.SIGABRT-1) | 1<<(syscall.SIGILL-1)
)

// answerOf reads how a process reacts to sig from /proc/PID/status (proc_pid_status(5)).
func answerOf(p Proc, sig syscall.Signal, buf *bytes.Buffer) answer {
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", buf) != nil {
		return dies
	}
	return parseAnswer(buf.Bytes(), sig)
}

// HasNotGot reports whether a process lives although sig would have ended it, so that it has not
// received sig. It returns false for a process that handles, blocks or ignores sig.
func HasNotGot(p Proc, sig syscall.Signal) bool {
	var buf bytes.Buffer
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", &buf) != nil {
		return false
	}
	blocked, ignored, caught := signalSets(buf.Bytes())
	if (blocked|ignored|caught)&(1<<(sig-1)) != 0 {
		return false
	}
	now, err := Stat(p.PID, &buf) // read after that, because a process that is ending has lost its handlers
	return err == nil && now.Start == p.Start && now.Alive()
}

// catches reports whether a process catches sig. It is more reliable than answerOf for a shell,
// which blocks all signals for a moment when it starts a command.
func catches(p Proc, sig syscall.Signal, buf *bytes.Buffer) bool {
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", buf) != nil {
		return false
	}
	_, _, caught := signalSets(buf.Bytes())
	return caught&(1<<(sig-1)) != 0
}

// signalSets returns the signals that a process blocks, ignores and catches, as bit sets.
func signalSets(status []byte) (blocked, ignored, caught uint64) {
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		set, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "SigBlk":
			blocked = set
		case "SigIgn":
			ignored = set
		case "SigCgt":
			caught = set
		}
	}
	return blocked, ignored, caught
}

func parseAnswer(status []byte, sig syscall.Signal) answer {
	blocked, ignored, caught := signalSets(status)
	bit := uint64(1) << (sig - 1)
	switch {
	case sig == syscall.SIGTERM && caught&loaderSignals == loaderSignals && caught&noLoader == 0 && blocked&bit == 0:
		return dies
	case (blocked|caught)&bit != 0:
		return handles
	case ignored&bit != 0:
		return ignores
	}
	return dies
}

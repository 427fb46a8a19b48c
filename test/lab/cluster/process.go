package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// identity identifies a process permanently: a pid may be reused, but not together with its start time (clock ticks
// since boot, field 22 of /proc/PID/stat).
type identity struct {
	pid   int
	start uint64
}

// stat holds the required fields of a /proc/PID/stat line (proc_pid_stat(5)).
type stat struct {
	command string // at most 15 bytes of the program's name
	state   byte
	parent  int
	start   uint64
}

// parseStat parses a line of /proc/PID/stat. The command name, field 2, may contain blanks and brackets, so fields
// are counted from its last bracket.
func parseStat(line string) (stat, error) {
	open, shut := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || shut < open {
		return stat{}, fmt.Errorf("parse stat: no command name in %q", line)
	}
	fields := strings.Fields(line[shut+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("parse stat: %d fields after the command name", len(fields))
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, fmt.Errorf("parse stat: %w", err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse stat: %w", err)
	}
	return stat{line[open+1 : shut], fields[0][0], parent, start}, nil
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(line))
}

// identify returns the identity of a live process. A zombie does not count as alive.
func identify(pid int) (identity, bool) {
	s, err := readStat(pid)
	return identity{pid, s.start}, err == nil && s.state != 'Z' && s.state != 'X'
}

func (i identity) alive() bool {
	now, ok := identify(i.pid)
	return ok && now == i
}

// kill sends a signal if the process is still the same one. It is not an error if the process has ended.
func (i identity) kill(sig syscall.Signal) error {
	if !i.alive() {
		return nil
	}
	if err := syscall.Kill(i.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d to %d: %w", sig, i.pid, err)
	}
	return nil
}

// end sends SIGTERM, and SIGKILL after patience, and returns when the process has ended.
func (i identity) end(patience time.Duration) error {
	if err := i.kill(syscall.SIGTERM); err != nil {
		return err
	}
	if i.gone(patience) {
		return nil
	}
	if err := i.kill(syscall.SIGKILL); err != nil {
		return err
	}
	if !i.gone(10 * time.Second) {
		return fmt.Errorf("process %d outlived SIGKILL by 10 s", i.pid)
	}
	return nil
}

func (i identity) gone(within time.Duration) bool {
	for end := time.Now().Add(within); i.alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// record returns the content of a pid file: the process, and the command line that started it.
func (i identity) record(argv []string) []byte {
	return fmt.Appendf(nil, "%d %d\n%s\n", i.pid, i.start, strings.Join(argv, "\x00"))
}

func parseRecord(data []byte) (i identity, argv []string, err error) {
	first, rest, _ := strings.Cut(string(data), "\n")
	if _, err := fmt.Sscanf(first, "%d %d", &i.pid, &i.start); err != nil {
		return identity{}, nil, fmt.Errorf("parse pid file: %w", err)
	}
	return i, strings.Split(strings.TrimSuffix(rest, "\n"), "\x00"), nil
}

func (c cluster) pidFile(name string) string { return c.path("run", name+".pid") }

// running returns the process that was started under name, and whether it is alive.
func (c cluster) running(name string) (identity, []string, bool) {
	data, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return identity{}, nil, false
	}
	i, argv, err := parseRecord(data)
	return i, argv, err == nil && i.alive()
}

// start runs a component in a session of its own, and appends its output to its log. If it is already running, start
// does nothing if the command line is the same, and stops it first otherwise. started reports whether it
// started a process.
func (c cluster) start(name string, argv []string, attr *syscall.SysProcAttr) (started bool, err error) {
	if len(argv) == 0 {
		return false, fmt.Errorf("start %s: unknown component", name)
	}
	if i, old, ok := c.running(name); ok {
		if strings.Join(old, "\x00") == strings.Join(argv, "\x00") {
			return false, i.kill(syscall.SIGCONT) // a test may have stopped it
		}
		if err := i.end(patience(name)); err != nil {
			return false, fmt.Errorf("stop %s: %w", name, err)
		}
	}
	log, err := openLog(c.logFile(name))
	if err != nil {
		return false, err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	cmd.SysProcAttr = attr
	if attr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true // the component must outlive the terminal and this program
	closeInherited()
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("start %s: %w", name, err)
	}
	i, ok := identify(cmd.Process.Pid)
	// Nothing waits for the process: when this program ends, the machine's PID 1 inherits it. Until then, a zombie counts
	// as ended.
	cmd.Process.Release()
	if !ok {
		return false, c.died(name)
	}
	return true, keys.WriteFile(c.pidFile(name), i.record(argv), 0o644)
}

// closeInherited prevents components from inheriting descriptors of our caller, which they would outlive. Otherwise a
// lock that flock(1) holds during a test would be held until the cluster is down.
func closeInherited() {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// patience returns how long a component may take to end after SIGTERM. The API server would wait for its own
// watches. Killing it loses nothing, because its state is in etcd.
func patience(name string) time.Duration {
	if name == "kube-apiserver" {
		return time.Second
	}
	return 10 * time.Second
}

// stop ends a component that start started, with SIGKILL after patience, and removes its pid file.
func (c cluster) stop(name string) error {
	if i, _, ok := c.running(name); ok {
		if err := i.end(patience(name)); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	return os.RemoveAll(c.pidFile(name))
}

// openLog opens a log for appending. It truncates a log above 64 MiB.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if st, err := os.Stat(path); err == nil && st.Size() > 64<<20 {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o644)
}

// died returns the error for a component that ended unexpectedly.
func (c cluster) died(name string) error {
	return fmt.Errorf("%s has ended\n%s", name, c.lastLines(name))
}

// lastLines returns the path of a component's log and its last lines, indented.
func (c cluster) lastLines(name string) string {
	const size = 16 << 10
	f, err := os.Open(c.logFile(name))
	if err != nil {
		return "   (no log: " + err.Error() + ")"
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > size {
		f.Seek(-size, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(f, size))
	return "   last lines of " + c.logFile(name) + ":\n     " + strings.ReplaceAll(tail(data, 12), "\n", "\n     ")
}

// await polls ready until it returns nil. It gives up when one of the components has ended, or after limit. The
// error then has the condition, ready's last error, and the last lines of the components' logs.
func (c cluster) await(what string, limit time.Duration, ready func() error, components ...string) error {
	end := time.Now().Add(limit)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		for _, name := range components {
			if _, _, ok := c.running(name); !ok {
				return c.died(name)
			}
		}
		if time.Now().After(end) {
			msg := fmt.Sprintf("%s: not after %s: %v", what, limit, err)
			for _, name := range components {
				msg += "\n" + c.lastLines(name)
			}
			return errors.New(msg)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

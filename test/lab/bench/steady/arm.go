//go:build linux

package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/lab/bench/pods"
	"github.com/musterhq/muster/test/suite/proc"
)

//go:embed testdata/launcher.sh
var launcherScript []byte

//go:embed testdata/worker.sh
var workerScript []byte

//go:embed testdata/rsh.sh
var rshScript []byte

// arm is a job, with or without Muster, that runs command lines on request.
type arm struct {
	name      string
	dir       string // /shared
	job       pods.Job
	addresses []string
	lines     *os.File // FIFOs, held open at both ends, so that nothing is lost between two readers
	codes     *bufio.Reader
	codesFile *os.File
	held      []*os.File
	env       string // environment variables before a command
	ready     string // command line that ends when all workers can be reached
}

// newArm starts the pods of a job.
func newArm(ctx context.Context, s pods.Space, dir string, job pods.Job) (*arm, error) {
	a := &arm{name: job.Name, dir: dir, job: job, ready: "true"}
	job.Shared = dir
	var err error
	if a.lines, err = a.fifo(a.name + "-lines"); err != nil {
		return a, err
	}
	if a.codesFile, err = a.fifo(a.name + "-codes"); err != nil {
		return a, err
	}
	a.codes = bufio.NewReader(a.codesFile)
	a.addresses, err = s.Start(ctx, job)
	return a, err
}

// fifo creates a FIFO that pods may use, and opens it.
func (a *arm) fifo(name string) (*os.File, error) {
	path := filepath.Join(a.dir, name)
	if err := errors.Join(unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	a.held = append(a.held, f)
	return f, err
}

func (a *arm) close() {
	for _, f := range a.held {
		if f != nil {
			f.Close()
		}
	}
}

// do runs a command line in the launcher's pod and returns its output.
func (a *arm) do(ctx context.Context, line string, limit time.Duration) (string, error) {
	if _, err := a.lines.WriteString(line + "\n"); err != nil {
		return "", err
	}
	end := time.Now().Add(limit)
	stop := context.AfterFunc(ctx, func() { _ = a.codesFile.SetReadDeadline(time.Now()) })
	defer stop()
	if err := a.codesFile.SetReadDeadline(end); err != nil {
		return "", err
	}
	code, err := a.codes.ReadString('\n')
	said, rerr := os.ReadFile(filepath.Join(a.dir, a.name+"-output"))
	if err = errors.Join(err, ctx.Err(), rerr); err == nil && code != "0\n" {
		err = fmt.Errorf("exit code %s", strings.TrimSpace(code))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w\n%s", a.name, line, err, said)
	}
	return string(said), nil
}

// mpirun returns the command line of a run.
func (a *arm) mpirun(l load) string {
	return fmt.Sprintf("%s mpirun --mca mpi_yield_when_idle %d --bind-to none -n %d %s", a.env, btoi(l.workers > 2), l.workers, l.line(a.name))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// jobs returns the names of the two jobs.
func jobs() [2]string { return [...]string{"with", "without"} }

// arms starts both jobs, and returns them when they are ready for their first runs.
func arms(ctx context.Context, o options, l load, s pods.Space, dir string) (list []*arm, err error) {
	for name, text := range map[string][]byte{"launcher.sh": launcherScript, "worker.sh": workerScript, "rsh.sh": rshScript} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, text, 0o755), os.Chmod(path, 0o755)); err != nil {
			return nil, err
		}
	}
	with, err := newArm(ctx, s, dir, pods.Job{Name: jobs()[0], Image: o.image, Bin: o.bin, CPU: l.share(), Workers: l.workers, Worker: []string{"worker"},
		Launcher: []string{"run", "--job=" + jobs()[0], fmt.Sprintf("--workers=%d", l.workers), "--slots=1", "--", "sh", "/shared/launcher.sh", jobs()[0]}})
	list = append(list, with)
	if err != nil {
		return list, err
	}
	without, err := newArm(ctx, s, dir, pods.Job{Name: jobs()[1], Image: o.image, CPU: l.share(), Workers: l.workers, Shell: true,
		Launcher: []string{"sh /shared/launcher.sh " + jobs()[1]}, Worker: []string{"sh /shared/worker.sh"}})
	list = append(list, without)
	if err != nil {
		return list, err
	}
	with.ready = "for h in $(agent hosts | sed 's/ .*//'); do agent rsh $h true & pids=\"$pids $!\"; done; for p in $pids; do wait $p || exit 1; done"
	exported, err := with.do(ctx, "env", time.Minute)
	if err != nil {
		return list, err
	}
	return list, without.copy(exported)
}

// copy gives an arm the Open MPI parameters that agent run exports, but its own remote shell and
// hosts.
func (a *arm) copy(exported string) error {
	var hosts strings.Builder
	for _, address := range a.addresses {
		fmt.Fprintf(&hosts, "%s slots=1\n", address)
		if _, err := a.fifo("at-" + address); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(a.dir, "hosts"), []byte(hosts.String()), 0o644); err != nil {
		return err
	}
	words := parameters(exported)
	a.env = strings.Join(append(words, "OMPI_MCA_plm_rsh_agent=/shared/rsh.sh", "OMPI_MCA_orte_default_hostfile=/shared/hosts"), " ")
	return nil
}

// parameters returns the Open MPI parameters in the output of env, except remote shell and hosts.
func parameters(env string) (words []string) {
	for line := range strings.Lines(env) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !found || !strings.HasPrefix(name, "OMPI_MCA_") || name == "OMPI_MCA_plm_rsh_agent" || name == "OMPI_MCA_orte_default_hostfile" {
			continue
		}
		words = append(words, name+"='"+strings.ReplaceAll(value, "'", `'\''`)+"'")
	}
	return words
}

// agents holds the PIDs of Muster's processes on this machine, by pod.
type agents map[string][]int

// findAgents finds the processes by their names, and their pods by the host name that the
// kubelet puts into a container's environment.
func findAgents(a *arm) (agents, error) {
	names := []string{a.job.LauncherName()}
	for i := range a.job.Workers {
		names = append(names, a.job.WorkerName(i))
	}
	found := agents{}
	for _, p := range proc.Find(func(env []string) bool {
		return slices.ContainsFunc(names, func(pod string) bool { return slices.Contains(env, "HOSTNAME="+pod) })
	}) {
		if strings.HasPrefix(p.Comm, "agent") {
			found[p.Getenv("HOSTNAME")] = append(found[p.Getenv("HOSTNAME")], p.PID)
		}
	}
	if len(found) != len(names) {
		return nil, fmt.Errorf("find agents: in %d of %d pods", len(found), len(names))
	}
	return found, nil
}

// spent returns the CPU time of a process by the scheduler's count, in seconds. It returns false if the
// process has ended.
func spent(pid int) (seconds float64, there bool) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, false
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended; Go threads rarely end
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseFloat(ran, 64)
		if err != nil {
			return 0, false
		}
		seconds += ns / 1e9
	}
	return seconds, true
}

// watch measures the CPU time of a job's agents.
type watch struct {
	arm         *arm
	found       agents
	first, last map[int]float64 // by PID; last is updated repeatedly, because agent attach ends when its link is given up
	began       time.Time
}

// watchAgents starts to measure.
func watchAgents(a *arm) (*watch, error) {
	found, err := findAgents(a)
	if err != nil {
		return nil, err
	}
	w := &watch{arm: a, found: found, first: map[int]float64{}, last: map[int]float64{}, began: time.Now()}
	w.into(w.first)
	w.look()
	return w, nil
}

func (w *watch) look() { w.into(w.last) }

func (w *watch) into(seen map[int]float64) {
	for _, pids := range w.found {
		for _, pid := range pids {
			if seconds, there := spent(pid); there {
				seen[pid] = seconds
			}
		}
	}
}

// percent returns, for each worker, the CPU time of its agents in
// percent of a core.
func (w *watch) percent() (percent []float64) {
	passed := time.Since(w.began).Seconds()
	for i := range w.arm.job.Workers {
		sum := 0.0
		for _, pid := range w.found[w.arm.job.WorkerName(i)] {
			sum += w.last[pid] - w.first[pid]
		}
		percent = append(percent, 100*sum/passed)
	}
	return percent
}

// gate lets the ranks of an arm compute for one slice at a time. Between slices the ranks sleep, blocked on a
// lock that this program holds until their slice begins. Slices use two locks in turn, so that a lock
// is held again before the ranks return to it.
type gate struct {
	path  string
	locks [2]*os.File
	told  *os.File // FIFO with rank 0's seconds of each slice
	lines *bufio.Reader
	next  int
}

const sliceLimit = time.Minute

// newGate creates an arm's gate, which is open.
func newGate(a *arm) (*gate, error) {
	g := &gate{path: filepath.Join(a.dir, a.name)}
	for i := range g.locks {
		path := g.path + "-" + strconv.Itoa(i)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return g, err
		}
		g.locks[i] = f
		if err := os.Chmod(path, 0o666); err != nil {
			return g, err
		}
	}
	var err error
	g.told, err = a.fifo(a.name + "-slices") // the arm closes it
	g.lines = bufio.NewReader(g.told)
	return g, err
}

// shut closes the gate before the ranks start.
func (g *gate) shut() error {
	g.next = 0
	err := os.RemoveAll(g.path + "-end")
	for _, f := range g.locks {
		err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	}
	return err
}

// slice lets the ranks compute for one slice, and returns its seconds.
func (g *gate) slice(ctx context.Context) (float64, error) {
	lock := int(g.locks[g.next%2].Fd())
	g.next++
	if err := errors.Join(unix.Flock(lock, unix.LOCK_UN), g.told.SetReadDeadline(time.Now().Add(sliceLimit))); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = g.told.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := g.lines.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("wait for the end of a slice: %w", errors.Join(err, ctx.Err()))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return seconds, errors.Join(err, unix.Flock(lock, unix.LOCK_EX))
}

// end lets the ranks finish.
func (g *gate) end() error {
	err := os.WriteFile(g.path+"-end", nil, 0o644)
	for _, f := range g.locks {
		err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_UN))
	}
	return err
}

func (g *gate) close() {
	for _, f := range g.locks {
		if f != nil {
			f.Close()
		}
	}
}

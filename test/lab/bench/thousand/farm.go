//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/program"
)

// farmVerb is the argument with which this program runs the nodes' side: the workers and their kubelet. It is
// a process of its own, so that its CPU time can be measured, and ends with its parent.
const farmVerb = "farm"

// farmConfig is the farm's configuration, in a file.
type farmConfig struct {
	Workers                     int
	Agent, Pod                  string // binaries
	Dir                         string // for a directory for each pod
	Certificate, Key, Authority []byte // PEM
	// Lines is how many lines each rank writes, Rate of them a second, if the workers are
	// simulated. 0 means that they are processes.
	Lines, Rate int
}

// workers are the workers of a run.
type workers interface {
	pods
	// finish waits until they have ended.
	finish(workers int) farmReport
}

// processes are workers that are real processes.
type processes struct {
	sockets
	*collector
}

// farmReport is the farm's report at its end.
type farmReport struct {
	Ended  int         // workers that ended by themselves
	Left   int         // workers that did not end in time
	Codes  map[int]int // how many workers ended with each exit code
	Served int         // streams
}

// patience is how long workers may take to start, and to end after the farm was told
// to end.
const patience = time.Minute

// farmMain starts the workers, prints "ready", and serves pods/exec on descriptor 3. When
// its stdin ends, it waits for the workers to end and prints a report.
func farmMain(path string) error {
	runtime.LockOSThread()  // the workers end with the thread that started them
	debug.SetGCPercent(400) // the farm replaces many kubelets, each of which would have little garbage to collect
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var c farmConfig
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	ln, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return fmt.Errorf("take over the listener: %w", err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all, err := c.workers(ctx)
	if err != nil {
		return err
	}
	k := &kubelet{pods: all}
	failed := make(chan error, 1)
	go func() { failed <- k.serve(ln, c) }()
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // end of file is the signal to stop
		close(stop)
	}()
	fmt.Println("ready")
	select {
	case err := <-failed:
		return err
	case <-stop:
	}
	said := all.finish(c.Workers)
	said.Served = int(k.served.Load())
	return json.NewEncoder(os.Stdout).Encode(said)
}

// workers starts the workers, and returns when a launcher can reach them.
func (c farmConfig) workers(ctx context.Context) (workers, error) {
	if c.Lines > 0 {
		all := newPlayers(c.Workers)
		go all.print(ctx, c.Lines, c.Rate)
		return all, nil
	}
	if err := startWorkers(c); err != nil {
		return nil, err
	}
	children := &collector{said: farmReport{Codes: map[int]int{}}, all: make(chan struct{})}
	go children.run()
	return processes{sockets(c.Dir), children}, awaitWorkers(c)
}

// startWorkers starts each worker as PID 1 of a namespace of its own, as in a pod. Otherwise each would see the
// processes of all: when a worker ends a process, it looks at every process that it can see.
func startWorkers(c farmConfig) error {
	log, err := os.OpenFile(filepath.Join(c.Dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	for i := range c.Workers {
		dir := filepath.Join(c.Dir, podName(i))
		if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
			return err
		}
		attr := &syscall.ProcAttr{Dir: dir, Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
			Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
				names.EnvDir + "=" + dir, names.EnvWorker + "=" + podName(i), names.EnvSlots + "=1"},
			Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Setsid: true, Pdeathsig: syscall.SIGKILL}}
		if _, err := syscall.ForkExec(c.Pod, []string{c.Pod, "init", c.Agent, "worker"}, attr); err != nil {
			return fmt.Errorf("start worker: %w", err)
		}
	}
	return nil
}

// awaitWorkers waits until all workers listen.
func awaitWorkers(c farmConfig) error {
	late := time.Now().Add(patience)
	for i := range c.Workers {
		for {
			_, err := os.Stat(filepath.Join(c.Dir, podName(i), names.WorkerSocket))
			if err == nil {
				break
			}
			if time.Now().After(late) {
				return fmt.Errorf("worker %d did not start: %w", i, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// collector collects the exit statuses of the children.
type collector struct {
	mu   sync.Mutex
	said farmReport
	all  chan struct{} // closed when no child is left
}

func (c *collector) run() {
	defer close(c.all)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(-1, &status, 0, nil)
		c.mu.Lock()
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left
			c.mu.Unlock()
			return
		case status.Exited():
			c.said.Ended++
			c.said.Codes[status.ExitStatus()]++
		}
		c.mu.Unlock()
	}
}

// finish waits for the workers. Workers that do not end in time are killed when this program
// ends.
func (c *collector) finish(workers int) farmReport {
	select {
	case <-c.all:
	case <-time.After(patience):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.said
	said.Left = workers - said.Ended
	return said
}

// farm is the farm's process, in the program that measures.
type farm struct {
	cmd   *exec.Cmd
	dir   string
	stdin io.WriteCloser
	said  *bufio.Reader
	ended chan error
}

// startFarm starts a number of workers, and returns when all listen and pods/exec is
// served. If lines is above 0, the workers are simulated and each writes that many lines.
func (w *world) startFarm(ctx context.Context, workers, lines int) (*farm, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(w.Dir, "f")
	if err != nil {
		return nil, err
	}
	config, err := w.write("farm.json", farmConfig{Workers: workers, Agent: filepath.Join(w.bin, "agent"), Pod: w.pod, Dir: dir,
		Certificate: w.pair.certificate, Key: w.pair.key, Authority: w.Config.CAData,
		Lines: lines, Rate: rate})
	if err != nil {
		return nil, err
	}
	f := &farm{cmd: exec.Command(self, farmVerb, config), dir: dir, ended: make(chan error, 1)}
	f.cmd.Stderr, f.cmd.ExtraFiles = os.Stderr, []*os.File{w.listener}
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, out2, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f.cmd.Stdout, f.said = out2, bufio.NewReader(out)
	err = startBound(f.cmd, f.ended)
	out2.Close()
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(patience+30*time.Second, func() { _ = f.cmd.Process.Kill() })
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { _ = f.cmd.Process.Kill() })
	defer stop()
	line, err := f.said.ReadString('\n')
	if strings.TrimSpace(line) != "ready" {
		f.stdin.Close()
		return nil, fmt.Errorf("start workers: %w", errors.Join(err, <-f.ended, ctx.Err()))
	}
	return f, nil
}

// startBound starts a process that is killed when this program ends, for whatever reason. It sends
// the result of the process to ended.
func startBound(cmd *exec.Cmd, ended chan<- error) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the process would be killed at the end of the thread
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return nil
}

// end waits until the workers have ended by themselves, as they do when their
// launcher tells them that the job is over. It is an error if a worker has not ended, or had an
// exit code other than 0.
func (f *farm) end(workers int) (said farmReport, err error) {
	f.stdin.Close()
	late := time.AfterFunc(patience+30*time.Second, func() { _ = f.cmd.Process.Kill() })
	defer late.Stop()
	err = json.NewDecoder(f.said).Decode(&said)
	if err = errors.Join(err, <-f.ended); err != nil {
		return said, fmt.Errorf("end workers: %w", err)
	}
	if said.Codes[0] != workers {
		err = fmt.Errorf("%d workers: %d left behind, exit codes %v\n%s", workers, said.Left, said.Codes, f.lastWords())
	}
	return said, errors.Join(err, os.RemoveAll(f.dir))
}

// kill is for a run that has failed: the workers are killed with the farm.
func (f *farm) kill() {
	_ = f.cmd.Process.Kill() // it may have ended
	<-f.ended                //nolint:errcheck // it was killed
}

// lastWords returns the end of the workers' common log.
func (f *farm) lastWords() string {
	text, err := os.ReadFile(filepath.Join(f.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4096):])
}

func (f *farm) usage() (program.Usage, error) { return program.UsageOf(f.cmd.Process.Pid) }

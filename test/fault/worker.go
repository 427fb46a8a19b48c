package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/test/fault/server"
	"github.com/musterhq/muster/test/suite/figure"
)

// procs owns every process that this program starts, as PID 1 does.
type procs struct {
	reaper *reap.Reaper
	cancel context.CancelFunc
	done   chan error
}

func startProcs() (*procs, error) {
	if err := reap.Subreaper(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &procs{reaper: reap.New(), cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- p.reaper.Run(ctx) }()
	return p, nil
}

// left returns all living descendants of this program.
func (p *procs) left() ([]reap.Proc, error) {
	all, err := reap.Scan(names.EnvSession)
	var alive []reap.Proc
	for _, proc := range reap.Below(all, os.Getpid()) {
		if proc.Alive() {
			alive = append(alive, proc)
		}
	}
	return alive, err
}

// endSessions kills processes that sessions have left, and reports them. No process should be left, so an error is
// better than waiting.
func (p *procs) endSessions() error {
	left, err := p.left()
	n := 0
	for _, proc := range left {
		if proc.Marker != "" {
			n++
			_ = syscall.Kill(proc.PID, syscall.SIGKILL) // the process may have ended, which is fine
		}
	}
	if n > 0 {
		err = errors.Join(err, fmt.Errorf("%d processes of sessions left", n))
	}
	return err
}

func (p *procs) close() error {
	p.cancel()
	return <-p.done
}

// inWorker is PID 1's server inside this process.
type inWorker struct {
	server *session.Server
	cancel context.CancelFunc
	done   chan error
}

func (y *yard) inProcess(dir, socket string, d *door) (worker, error) {
	ln, err := rundir.Listen(socket)
	if err != nil {
		return nil, err
	}
	cfg := session.Config{Version: "fault", Slots: 1, Env: os.Environ(), Dir: dir, SpoolDirs: []string{dir},
		Reaper: y.procs.reaper, Log: slog.New(slog.DiscardHandler)}
	if d != nil {
		if err := d.network.(*entrance).open(); err != nil {
			return nil, err
		}
		cfg.Network, cfg.Instance = d.network, d.instance
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &inWorker{cancel: cancel, done: make(chan error, 1), server: session.New(cfg)}
	go func() { w.done <- w.server.Serve(ctx, ln) }()
	return w, nil
}

// close does not stop sessions, because a stop would end all processes below this one, including those of other
// rigs. So no session may be left.
func (w *inWorker) close() error {
	n := w.server.Sessions()
	w.cancel()
	err := <-w.done
	if n > 0 {
		err = errors.Join(err, fmt.Errorf("%d sessions are still running", n))
	}
	return err
}

// bridge is `agent attach` inside this process: two copy loops. The bridge ends when one of them ends.
func bridge(path string) server.Bridge {
	return func(in io.Reader, out, _ io.Writer) int {
		c, err := net.Dial("unix", path)
		if err != nil {
			return names.ExitNoWorker
		}
		defer c.Close()
		done := make(chan struct{}, 2)
		pass := func(w io.Writer, r io.Reader) {
			_, _ = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 64<<10))
			done <- struct{}{}
		}
		go pass(c, in)
		go pass(out, c)
		<-done
		return 0
	}
}

// process is `agent worker` as a process.
type process struct{ proc *reap.Process }

func (y *yard) process(dir, socket string, d *door) (worker, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	env := append(os.Environ(), names.EnvDir+"="+filepath.Dir(socket))
	if d != nil {
		env = append(env, d.env...)
	}
	p, err := y.procs.reaper.Start(reap.Spec{
		Path: y.agent, Argv: []string{y.agent, "worker"}, Dir: dir, Setsid: true,
		Env:   env,
		Files: []*os.File{nil, log, log},
	})
	if err != nil {
		return nil, err
	}
	for range 500 {
		if listens(socket, d) {
			return &process{proc: p}, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = p.Signal(syscall.SIGKILL)
	return nil, errors.New("agent worker does not listen")
}

// listens reports whether a worker listens at its socket and, if it has a door, by network. It tells the door the address.
func listens(socket string, d *door) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	c.Close()
	if d != nil {
		d.address, err = rundir.Address(filepath.Dir(socket))
	}
	return err == nil
}

// close sends TERM to the worker, as a kubelet does. An idle worker then exits with 0.
func (p *process) close() error {
	_ = p.proc.Signal(syscall.SIGTERM) // if it has ended, its status shows that
	if st := p.proc.Status(); st.Code != 0 {
		return fmt.Errorf("agent worker ended with %d", st.Code)
	}
	return nil
}

// attach runs `agent attach` as a container runtime does: when the client disconnects, its stdin ends, and it is
// not stopped.
func (y *yard) attach(dir string) server.Bridge {
	return func(in io.Reader, out, errs io.Writer) int {
		code, err := y.runAttach(dir, in, out, errs)
		if err != nil {
			fmt.Fprintln(errs, err)
			return 255
		}
		return code
	}
}

func (y *yard) runAttach(dir string, in io.Reader, out, errs io.Writer) (int, error) {
	var ours, theirs [3]*os.File
	defer func() {
		for _, f := range ours {
			if f != nil {
				f.Close()
			}
		}
	}()
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	p, err := y.procs.reaper.Start(reap.Spec{Path: y.agent, Argv: []string{y.agent, "attach"}, Setsid: true,
		Env: append(os.Environ(), names.EnvDir+"="+dir), Files: theirs[:]})
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(ours[0], in)
		ours[0].Close()
	}()
	var outputs sync.WaitGroup
	outputs.Go(func() { _, _ = io.Copy(out, ours[1]) })
	outputs.Go(func() { _, _ = io.Copy(errs, ours[2]) })
	outputs.Wait()
	return p.Status().Code, nil
}

// clean stops the servers. It returns an error if a goroutine or a process is left.
func (y *yard) clean() error {
	processes, goroutines, err := y.leftovers()
	if processes > 0 || goroutines != nil {
		err = errors.Join(err, fmt.Errorf("%d processes left", processes), goroutines)
	}
	return err
}

// leftovers stops the servers and finds processes and goroutines that are left. A kubelet waits 30 s for streams
// that do not come, and an API server waits as long for the answers to its own streams.
//
// Sometimes a shutdown of the servers' own SPDY connections waits forever. A stream that was refused, or that
// arrived while the connection was closed, is no longer in the list of streams when all are reset. The launcher's
// connections have no goroutines of their own.
func (y *yard) leftovers() (processes int, goroutines, err error) {
	left, err := y.procs.left()
	for _, p := range left {
		fmt.Printf("LEFT process %+v\n", p)
	}
	y.cluster.Close()
	err = errors.Join(err, y.procs.close())
	for range 60 {
		goroutines = goleak.Find(goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
			goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"),
			goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown.func1"))
		if goroutines == nil {
			break
		}
		time.Sleep(time.Second)
	}
	return len(left), goroutines, err
}

// cleanly records how many processes and goroutines are left.
func cleanly(y *yard, b *book) error {
	processes, goroutines, err := y.leftovers()
	if err != nil {
		return err
	}
	raw := map[string]int{"processes": processes, "goroutines": 0}
	if goroutines != nil {
		raw["goroutines"] = 1
		fmt.Printf("LEFT %v\n", goroutines)
	}
	return b.keep("fault-left", raw,
		figure.Row{Name: "processes left after all faults", Log: "processes", Op: "=="},
		figure.Row{Name: "goroutines left after all faults (goleak finds any: 1)", Log: "goroutines", Op: "=="})
}

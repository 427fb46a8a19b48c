//go:build linux

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Process is a program that runs beside a test.
type Process struct {
	cmd  *exec.Cmd
	log  string
	stop context.CancelFunc
	done chan error
}

// Start begins argv, with env beside its own environment; it ends with this
// program, however that ends. Its output goes to the file log.
func Start(log string, env []string, argv ...string) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	p := &Process{cmd: cmd, log: log, stop: stop, done: make(chan error, 1)}
	started := make(chan error)
	go func() {
		defer out.Close()
		runtime.LockOSThread() // whose end would be the program's
		err := cmd.Start()
		started <- err
		if err == nil {
			p.done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		stop()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return p, nil
}

// PID is the program's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Died is an error when the program has ended by itself.
func (p *Process) Died() error {
	select {
	case err := <-p.done:
		p.done <- err
		return fmt.Errorf("%s has ended by itself: %w: see %s", filepath.Base(p.cmd.Path), errors.Join(err, errors.New("nobody told it to")), p.log)
	default:
		return nil
	}
}

// End ends the program and waits for it; Died's error where there was nothing to end.
func (p *Process) End() error {
	err := p.Died()
	p.stop()
	<-p.done //nolint:errcheck // Died has told it
	return err
}

// Usage is what a process has used so far.
type Usage struct {
	PeakMB     float64 // 10^6 bytes of the resident set, at most
	CPUSeconds float64
}

// UsageOf reads it for a process that runs.
func UsageOf(pid int) (u Usage, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	status, err := p.NewStatus()
	if err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	stat, err := p.Stat()
	if err != nil {
		return u, fmt.Errorf("read CPU time: %w", err)
	}
	return Usage{PeakMB: float64(status.VmHWM) / 1e6, CPUSeconds: stat.CPUTime()}, nil
}

// Usage is the process's so far.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.PID()) }

// Main runs a program until it has ended or is interrupted. It ends with 1 when there was an error.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+": "+err.Error())
		os.Exit(1)
	}
}

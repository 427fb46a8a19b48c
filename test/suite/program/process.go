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

// Start starts argv, with env added to its environment. The program ends with this process, however this process
// ends. Its output goes to the file log.
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
		runtime.LockOSThread() // the program is killed when this thread ends
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

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Died returns an error if the program has ended by itself.
func (p *Process) Died() error {
	select {
	case err := <-p.done:
		p.done <- err
		return fmt.Errorf("%s has ended by itself: %w: see %s", filepath.Base(p.cmd.Path), errors.Join(err, errors.New("it was not told to stop")), p.log)
	default:
		return nil
	}
}

// End stops the program and waits for its end. If the program has ended before, it returns the error of Died.
func (p *Process) End() error {
	err := p.Died()
	p.stop()
	<-p.done //nolint:errcheck // Died has reported it
	return err
}

// Usage is what a process has used so far.
type Usage struct {
	PeakMB     float64 // 10^6 bytes of the resident set, at most
	CPUSeconds float64
}

// UsageOf returns the usage of a running process.
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

// Usage returns the usage of the process so far.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.PID()) }

// Main runs a program until it ends or is interrupted. If run returns an error, Main exits with 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+": "+err.Error())
		os.Exit(1)
	}
}

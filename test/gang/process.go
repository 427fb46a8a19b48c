//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// process is a program of this machine that runs beside the cluster's own.
type process struct {
	name string
	stop context.CancelFunc
	done chan error
}

// start begins a program; it ends with this one, however that ends. Its output
// goes to raw/gang-NAME.log.
func start(out, name string, argv ...string) (*process, error) {
	log, err := os.Create(filepath.Join(out, "raw", "gang-"+name+".log"))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 3 * time.Second
	p := &process{name: name, stop: stop, done: make(chan error, 1)}
	started := make(chan error)
	go func() {
		defer log.Close()
		runtime.LockOSThread() // whose end would be the program's
		err := cmd.Start()
		started <- err
		if err == nil {
			p.done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		stop()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// died says that the program has ended by itself.
func (p *process) died() error {
	select {
	case err := <-p.done:
		p.done <- err
		return fmt.Errorf("%s has ended: %w: see raw/gang-%s.log", p.name, errors.Join(err, errors.New("by itself")), p.name)
	default:
		return nil
	}
}

// end ends the program and waits for it.
func (p *process) end() {
	p.stop()
	<-p.done
}

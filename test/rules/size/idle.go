//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
)

// bridge dials as pods/exec does: it runs `agent attach` and uses its stdin and stdout.
type bridge struct {
	agent string
	env   []string
	pids  chan int // of the bridges, to measure and to reap
}

type pipes struct {
	io.Reader
	io.WriteCloser
	out *os.File
}

func (p pipes) Close() error { return errors.Join(p.WriteCloser.Close(), p.out.Close()) }

func (b bridge) Dial(context.Context) (io.ReadWriteCloser, error) {
	in, inw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, outw, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), inw.Close())
	}
	pid, err := spawn(b.agent, []string{"attach"}, b.env, in, outw)
	err = errors.Join(err, in.Close(), outw.Close())
	if err != nil {
		return nil, errors.Join(err, inw.Close(), out.Close())
	}
	b.pids <- pid
	return pipes{out, inw, out}, nil
}

// idle measures the proportional set size of a worker and of its bridge, with one link and no session. The samples
// span more than one ping.
func idle(agent, dir string) (figure.Series, error) {
	s := figure.Series{Unit: "bytes", Reduce: "max"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return s, err
	}
	env := []string{names.EnvDir + "=" + dir}
	worker, err := spawn(agent, []string{"worker", "--await", "1m"}, env)
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b := bridge{agent, env, make(chan int, 16)}
	err = func() error {
		if err := await.Until(ctx, 10*time.Millisecond, "the worker's socket", func() (bool, error) {
			_, err := os.Stat(filepath.Join(dir, names.WorkerSocket))
			return err == nil, nil
		}); err != nil {
			return err
		}
		return loaded(ctx, worker, b, &s)
	}()
	if err != nil {
		_ = syscall.Kill(worker, syscall.SIGKILL) // the process is our child and not reaped yet
	}
	return s, errors.Join(err, ended(worker))
}

// loaded keeps a link up while it takes samples, and then ends the job.
func loaded(ctx context.Context, worker int, b bridge, s *figure.Series) error {
	l := link.New(link.Config{Worker: "worker", Dialer: b, PingEvery: 500 * time.Millisecond,
		Hello: wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, Epoch: wire.Epoch{Created: time.Now().UnixNano(), UID: "size"}}})
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()
	err := await.Until(ctx, 10*time.Millisecond, "the link", func() (bool, error) { return l.State().Connected, nil })
	attach := 0
	if err == nil {
		attach = <-b.pids
	}
	for i := 0; i < 20 && err == nil; i++ {
		time.Sleep(100 * time.Millisecond) // the figure is a maximum over time
		var one, two float64
		if one, err = proc.PSS(worker); err == nil {
			two, err = proc.PSS(attach)
		}
		s.Samples = append(s.Samples, one+two)
	}
	if n := l.State().Redials; err == nil && n > 0 {
		err = fmt.Errorf("the link was redialed %d times", n)
	}
	if err == nil {
		err = l.End(ctx, false, time.Second)
	}
	cancel()
	err = errors.Join(err, <-ran)
	if attach > 0 {
		var ws syscall.WaitStatus
		_, _ = syscall.Wait4(attach, &ws, 0, nil) // the exit code does not matter
	}
	return err
}

// launcherIdle measures the proportional set size of a launcher. The link to its only worker is up, and its command
// waits.
func launcherIdle(launcher, dir string) (figure.Series, error) {
	s := figure.Series{Unit: "bytes", Reduce: "max"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return s, err
	}
	began := filepath.Join(dir, "began")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	pid, err := spawn(launcher, []string{"run", "--fake", "1", "--", "sh", "-c", "echo > " + began + "; exec sleep 600"}, env)
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = await.Until(ctx, 10*time.Millisecond, "the launcher's command", func() (bool, error) {
		_, err := os.Stat(began)
		return err == nil, nil
	})
	for i := 0; i < 20 && err == nil; i++ {
		time.Sleep(100 * time.Millisecond) // the figure is a maximum over time
		var pss float64
		pss, err = proc.PSS(pid)
		s.Samples = append(s.Samples, pss)
	}
	var ws syscall.WaitStatus
	err = errors.Join(err, syscall.Kill(pid, syscall.SIGTERM)) // the process is our child and not reaped yet
	_, werr := syscall.Wait4(pid, &ws, 0, nil)                 // the exit code is that of a signal
	return s, errors.Join(err, werr)
}

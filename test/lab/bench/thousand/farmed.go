//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/program"
)

// farm is the process of the nodes' side, seen from here.
type farm struct {
	cmd   *exec.Cmd
	dir   string
	stdin io.WriteCloser
	said  *bufio.Reader
	ended chan error
}

// startFarm starts so many workers, and returns when all listen and pods/exec is
// served. With lines they are players who write so many.
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

// startBound starts a process that ends with this program, however that ends. Its
// end goes to ended.
func startBound(cmd *exec.Cmd, ended chan<- error) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // whose end would be the process's
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
// launcher tells them that the job is over. It is an error when one has not, or had a
// code other than 0.
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

// kill is for a run that has failed: the workers go with the farm.
func (f *farm) kill() {
	_ = f.cmd.Process.Kill() // it may have ended
	<-f.ended
}

// lastWords is the end of the workers' common log.
func (f *farm) lastWords() string {
	text, err := os.ReadFile(filepath.Join(f.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4096):])
}

func (f *farm) usage() (program.Usage, error) { return program.UsageOf(f.cmd.Process.Pid) }

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
)

// work is what rank $1 does.
const work = `echo "output of $1"; sleep ${LONG:-0.1}; echo done > "$SHARED/done-$1"`

// common are the launcher's flags: short limits, so that a job which cannot go on
// says so soon.
var common = []string{"run", "--fake", "2", "--timeout", "12s", "--hopeless-after", "5s", "--lease", "10s", "--grace", "2s"}

// launch plays a job whose ranks are started by the launcher. The launcher gets the
// faults from its start, or PID 1 of the first worker does: its link is cut while its rank
// runs, and it has to accept a connection again.
func (s *stage) launch(ctx context.Context) (string, int, error) {
	launcher, err := s.binaries(s.Role == "pid1")
	if err != nil {
		return "", 0, err
	}
	words := append([]string{launcher}, common...)
	words = append(words, "--framework=plain", "--", "sh", "-c", `set -- $RANK; `+work)
	var env []string
	if s.Role == "pid1" {
		words, env = slices.Insert(words, 1, "--fake-fault", "drop after=100ms worker=0"), []string{"LONG=0.6"}
	} else {
		words = s.traced(words...)
	}
	cmd, err := s.start("launcher", words, env)
	if err != nil {
		return "", 0, err
	}
	out, code := s.end(ctx, "launcher", cmd)
	return out, code, nil
}

// binaries links agent and agent-launcher into the run's directory. With faulty, the
// agent there traces PID 1 of the first fake worker.
func (s *stage) binaries(faulty bool) (launcher string, err error) {
	dir := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	launcher = filepath.Join(dir, "agent-launcher")
	if err := os.Link(filepath.Join(s.bin, "agent-launcher"), launcher); err != nil {
		return "", err
	}
	agent := filepath.Join(dir, "agent")
	if !faulty {
		return launcher, os.Link(filepath.Join(s.bin, "agent"), agent)
	}
	real := filepath.Join(s.bin, "agent")
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1/$MUSTER_WORKER" = worker/127.0.0.2 ]; then
	ln -L /proc/self/fd/2 "$SHARED/log"
	exec %s "$@"
fi
exec %s "$@"
`, strings.Join(s.traced(real), " "), real)
	return launcher, os.WriteFile(agent, []byte(script), 0o755)
}

// serve plays a job whose command calls agent rsh. The launcher gets the faults once
// the command runs.
func (s *stage) serve(ctx context.Context) (string, int, error) {
	launcher, err := s.binaries(false)
	if err != nil {
		return "", 0, err
	}
	const script = `set -e
		echo > "$SHARED/ready"; until [ -e "$SHARED/go" ]; do sleep 0.02; done
		"$AGENT" rsh 127.0.0.2 "set -- 0; $WORK" & first=$!
		"$AGENT" rsh 127.0.0.3 "set -- 1; $WORK"
		wait $first`
	words := append([]string{launcher}, common...)
	cmd, err := s.start("launcher", append(words, "--", "sh", "-c", script),
		[]string{"WORK=SHARED=" + s.dir + "; " + work})
	if err != nil {
		return "", 0, err
	}
	tracer, err := s.attach(ctx, cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return "", 0, err
	}
	out, code := s.end(ctx, "launcher", cmd)
	_ = tracer.Wait() // it ends with the launcher
	return out, code, nil
}

// attach traces a process that runs, once the command is ready, and lets the command
// go on.
func (s *stage) attach(ctx context.Context, pid int) (*exec.Cmd, error) {
	if err := await.Until(ctx, 10*time.Millisecond, "the command", func() (bool, error) { _, err := os.Stat(filepath.Join(s.dir, "ready")); return err == nil, nil }); err != nil {
		return nil, err
	}
	tracer := exec.Command("strace", append([]string{"-f", "-b", "execve", "-o", s.trace, "-p", strconv.Itoa(pid)}, s.inject()...)...)
	said, err := os.Create(filepath.Join(s.dir, "strace"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	tracer.Stderr = said
	if err := tracer.Start(); err != nil {
		return nil, fmt.Errorf("start strace: %w", err)
	}
	err = await.Until(ctx, 10*time.Millisecond, "strace", func() (bool, error) {
		text, _ := os.ReadFile(said.Name())
		return bytes.Contains(text, []byte("attached")), nil
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o644)
	}
	if err != nil {
		_ = tracer.Process.Kill()
		_ = tracer.Wait()
	}
	return tracer, err
}

// gather plays a job without a launcher, whose rank 0 gets the faults. The code is the
// worst of both members, so a 0 means that both said so.
func (s *stage) gather(ctx context.Context) (string, int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", 0, err
	}
	agent := filepath.Join(s.bin, "agent")
	var cmds []*exec.Cmd
	for rank := range 2 {
		if err := os.Mkdir(filepath.Join(s.dir, fmt.Sprintf("m%d", rank)), 0o700); err != nil {
			return "", 0, err
		}
		words := []string{agent, "join", "--workers=2", "--rank=" + strconv.Itoa(rank), "--coordinator=" + address, "--timeout=12s",
			"--lease=24s", "--grace=2s", "--framework=plain", "--", "sh", "-c", `set -- $RANK; ` + work}
		if rank == 0 {
			words = s.traced(words...)
		}
		cmd, err := s.start(strconv.Itoa(rank), words, []string{"MUSTER_TOKEN=0123456789abcdef-of-a-test", "MUSTER_TERMINATION_LOG="})
		if err != nil {
			for _, cmd := range cmds {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			return "", 0, err
		}
		cmds = append(cmds, cmd)
	}
	var all strings.Builder
	worst := 0
	for rank, cmd := range cmds {
		out, code := s.end(ctx, strconv.Itoa(rank), cmd)
		all.WriteString(out)
		worst = max(worst, code)
	}
	return all.String(), worst, nil
}

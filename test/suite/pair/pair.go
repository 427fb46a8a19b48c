//go:build linux

// Package pair times one command with two builds, in turns within one run, so that other load on the machine
// affects both.
package pair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/suite/figure"
)

// Pair is a command with two builds.
type Pair struct {
	Before, After string   // directories with a program agent
	Args          []string // of agent
	Rounds        int      // rounds that count; one more warms up

	// MoreArgs come before Args, and MoreEnv is added to the environment, for the second build only.
	MoreArgs, MoreEnv []string
}

// Times are what a Pair has measured, each as the ratio of the second build to the first one.
type Times struct {
	Wall figure.Series // seconds
	CPU  figure.Series // of the agent's own process, without its children; seconds
}

// Times runs the command of both builds Rounds times, and lets each build go first in every second round. It returns an
// error if a command fails.
func (p Pair) Times(ctx context.Context) (Times, error) {
	t := Times{Wall: figure.Series{Reduce: "pairs"}, CPU: figure.Series{Reduce: "pairs"}}
	for round := range p.Rounds + 1 {
		var wall, cpu [2]float64
		for turn := range wall {
			build := (round + turn) % 2
			var err error
			if wall[build], cpu[build], err = p.time(ctx, build == 1); err != nil {
				return t, err
			}
		}
		if round > 0 {
			t.Wall.Over, t.Wall.Samples = append(t.Wall.Over, wall[0]), append(t.Wall.Samples, wall[1])
			t.CPU.Over, t.CPU.Samples = append(t.CPU.Over, cpu[0]), append(t.CPU.Samples, cpu[1])
		}
	}
	return t, nil
}

// time runs the command of one build once.
func (p Pair) time(ctx context.Context, after bool) (wall, cpu float64, err error) {
	dir, args, env := p.Before, p.Args, os.Environ()
	if after {
		dir, env = p.After, append(env, p.MoreEnv...)
		args = append(append(append([]string{}, p.Args[:1]...), p.MoreArgs...), p.Args[1:]...)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "agent"), args...)
	cmd.Env = append(env, "PATH="+dir+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	cpu, err = used(cmd.Process.Pid)
	wall = time.Since(began).Seconds()
	if werr := cmd.Wait(); werr != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", cmd, werr, &out)
	}
	return wall, cpu, err
}

// used waits until a child has ended, and returns the CPU time of all its threads. The child stays to be waited for, so
// its CPU clock still exists. That clock counts nanoseconds. The fields in /proc/PID/stat have steps of 0.01 s, and what
// wait4 returns includes the child's own children.
func used(pid int) (seconds float64, err error) {
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("wait for %d: %w", pid, err)
	}
	var spent unix.Timespec
	if err := unix.ClockGettime(clockOf(pid), &spent); err != nil {
		return 0, fmt.Errorf("read the CPU clock of %d: %w", pid, err)
	}
	return time.Duration(spent.Nano()).Seconds(), nil
}

// clockOf returns the id of a process's CPU clock, as clock_getcpuclockid(3) does.
func clockOf(pid int) int32 {
	const scheduler = 2 // the clock that counts what the scheduler has measured
	return int32(^pid<<3 | scheduler)
}

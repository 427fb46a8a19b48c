// Package pair times one command with two builds, in turns within one run, so that other load on the machine
// affects both.
package pair

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
)

// Pair is a command with two builds.
type Pair struct {
	Before, After string   // directories with a program agent
	Args          []string // of agent
	Rounds        int      // rounds that count; one more warms up
}

// Times runs the command of both builds Rounds times, and lets each build go first in every second round. It
// returns the times in seconds, as the ratio of the second build to the first one. It returns an error if a command
// fails.
func (p Pair) Times(ctx context.Context) (figure.Series, error) {
	s := figure.Series{Reduce: "ratio"}
	for round := range p.Rounds + 1 {
		var took [2]float64
		for turn := range took {
			build := (round + turn) % 2
			seconds, err := p.time(ctx, []string{p.Before, p.After}[build])
			if err != nil {
				return s, err
			}
			took[build] = seconds
		}
		if round > 0 {
			s.Over, s.Samples = append(s.Over, took[0]), append(s.Samples, took[1])
		}
	}
	return s, nil
}

// time runs the command of the build in dir once.
func (p Pair) time(ctx context.Context, dir string) (seconds float64, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "agent"), p.Args...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return time.Since(began).Seconds(), nil
}

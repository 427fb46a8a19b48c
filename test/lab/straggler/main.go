//go:build linux

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	ranks  = 20
	step   = 100 * time.Millisecond
	noise  = 0.10
	slower = 1.30
)

// options holds the flags of the command line.
type options struct {
	bin           string
	without, with int
	seconds       float64
	seed          uint64

	rank bool // be a rank
	slow int  // the slow rank; -1: none
}

func main() { program.Main("straggler", run) }

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of agent and agent-launcher")
	flag.IntVar(&o.without, "without", 50, "play `N` runs without a straggler")
	flag.IntVar(&o.with, "with", 5, "play `N` runs with one")
	flag.Float64Var(&o.seconds, "seconds", 7, "let ranks step for `N` seconds")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "choose noise and slow ranks by `SEED`")
	flag.BoolVar(&o.rank, "rank", false, "be a rank of a run")
	flag.IntVar(&o.slow, "slow", -1, "the number of the slow rank; -1: none")
	flag.Parse()
	if o.rank {
		return o.steps()
	}
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	fmt.Printf("-seed %d\n", o.seed)
	return o.play(ctx)
}

// steps takes steps as one rank, and prints them.
func (o options) steps() error {
	rank, err := strconv.Atoi(os.Getenv("RANK"))
	if err != nil {
		return fmt.Errorf("RANK: %w", err)
	}
	r := rand.New(rand.NewPCG(o.seed, uint64(rank)))
	end := time.Now().Add(time.Duration(o.seconds * float64(time.Second)))
	for n := 1; time.Now().Before(end); n++ {
		took := float64(step) * (1 - noise + 2*noise*r.Float64())
		if rank == o.slow {
			took *= slower
		}
		time.Sleep(time.Duration(took))
		fmt.Printf("step %d\n", n)
	}
	return nil
}

// found is the result of all runs.
type found struct {
	Seed    uint64 `json:"seed"`
	Without int    `json:"runs_without_straggler"`
	With    int    `json:"runs_with_straggler"`
	Named   int    `json:"named_without_straggler"` // runs in which a rank was named
	Missed  int    `json:"missed"`                  // runs whose straggler was not named
	Others  int    `json:"others_named"`            // ranks that were named beside it
}

// play plays all runs.
func (o options) play(ctx context.Context) error {
	f := found{Seed: o.seed, Without: o.without, With: o.with}
	r := rand.New(rand.NewPCG(o.seed, 0))
	for i := range o.without + o.with {
		one := o
		one.seed, one.slow = r.Uint64(), -1
		if i >= o.without {
			one.slow = r.IntN(ranks)
		}
		named, err := one.launch(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("run %d: slow rank %d, named %v\n", i, one.slow, named)
		hit := false
		for _, rank := range named {
			if rank == one.slow {
				hit = true
			} else if one.slow >= 0 {
				f.Others++
			}
		}
		switch {
		case one.slow < 0 && len(named) > 0:
			f.Named++
		case one.slow >= 0 && !hit:
			f.Missed++
		}
	}
	return figure.Report("test/lab/run straggler", "straggler", f,
		figure.Row{Name: fmt.Sprintf("runs of %d ranks without a straggler, of %d, in which one was named", ranks, o.without), Op: "==", Unit: "runs", Log: "named_without_straggler"},
		figure.Row{Name: fmt.Sprintf("stragglers of %d ranks, 30 %% slower, of %d, that were not named", ranks, o.with), Op: "==", Unit: "runs", Log: "missed"},
		figure.Row{Name: "other ranks that were named beside a straggler", Op: "==", Unit: "ranks", Log: "others_named"})
}

// launch plays one run, and returns the ranks that its report names.
func (o options) launch(ctx context.Context) (named []int, err error) {
	dir, err := os.MkdirTemp("", "straggler")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, filepath.Join(o.bin, "agent"), "run", "--fake="+strconv.Itoa(ranks), "--framework=plain", "--straggler-after=4s",
		"--expect", `step (\d+)`, "--within=1m", "--only-ranks=0", "--report="+report, "--",
		self, "-rank", "-slow="+strconv.Itoa(o.slow), fmt.Sprintf("-seconds=%g", o.seconds), fmt.Sprintf("-seed=%d", o.seed))
	cmd.Env = append(proc.Environment(o.bin), "MUSTER_DIR="+filepath.Join(dir, "r"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("agent run: %w\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var got struct {
		Stragglers []struct {
			Rank int `json:"rank"`
		} `json:"stragglers"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("read %s: %w", report, err)
	}
	for _, s := range got.Stragglers {
		named = append(named, s.Rank)
	}
	return named, nil
}

package framework_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// variant is one way to use a framework.
type variant struct {
	framework framework.Framework
	command   []string
	roles     func(workers int) string // nil means no roles
	change    func(*framework.Cluster)
	same      string // the variant whose golden file this one has too; "": its own
}

func python() []string { return []string{"python3", "train.py"} }

func chiefAndPS(workers int) string {
	switch workers {
	case 1:
		return "chief=1"
	case 2:
		return "ps=1,chief=1"
	}
	return fmt.Sprintf("ps=1,worker=%d,chief=1", workers-2)
}

func masterLast(workers int) string {
	if workers == 1 {
		return "master=1"
	}
	return fmt.Sprintf("worker=%d,master=1", workers-1)
}

// serversFirst returns roles without a training worker if there is only one worker.
func serversFirst(workers int) string {
	if workers == 1 {
		return "ps=1"
	}
	return fmt.Sprintf("ps=1,worker=%d", workers-1)
}

func psLite(workers int) string {
	return strings.Join([]string{"worker=1", "scheduler=1", "server=1"}[:workers], ",")
}

func gpus(c *framework.Cluster) {
	c.NoGPU = false
	for i := range c.Workers {
		c.Workers[i].GPUs = 8
	}
}

func elastic(c *framework.Cluster) { c.LeastWorkers = 1 }

func variants() map[string]variant {
	return map[string]variant{
		"plain":                 {framework: framework.Plain{}, command: []string{"./simulate"}},
		"torch":                 {framework: framework.Torch{}, command: python()},
		"torch-master":          {framework: framework.Torch{}, command: python(), roles: masterLast, change: gpus},
		"torchrun":              {framework: framework.Torch{}, command: []string{"torchrun", "train.py"}},
		"torchrun-elastic":      {framework: framework.Torch{}, command: []string{"torchrun", "train.py"}, change: elastic},
		"accelerate":            {framework: framework.Torch{}, command: []string{"accelerate", "launch", "train.py"}},
		"accelerate-gpu":        {framework: framework.Torch{}, command: []string{"accelerate", "launch", "train.py"}, change: gpus},
		"tensorflow":            {framework: framework.TensorFlow{}, command: python()},
		"tensorflow-roles":      {framework: framework.TensorFlow{}, command: python(), roles: chiefAndPS},
		"tensorflow-sparse":     {framework: framework.TensorFlow{Sparse: true}, command: python(), roles: chiefAndPS},
		"jax":                   {framework: framework.JAX{}, command: python()},
		"jax-gpu":               {framework: framework.JAX{}, command: python(), change: gpus},
		"paddle":                {framework: framework.Paddle{}, command: python()},
		"paddle-gpu":            {framework: framework.Paddle{}, command: python(), change: gpus},
		"paddle-launch":         {framework: framework.Paddle{}, command: []string{"python", "-m", "paddle.distributed.launch", "train.py"}},
		"paddle-servers":        {framework: framework.Paddle{}, command: python(), roles: serversFirst},
		"xgboost":               {framework: framework.XGBoost{}, command: python()},
		"xgboost-master":        {framework: framework.XGBoost{}, command: python(), roles: masterLast},
		"lightgbm":              {framework: framework.LightGBM{}, command: python()},
		"mxnet":                 {framework: framework.MXNet{}, command: python()},
		"mxnet-roles":           {framework: framework.MXNet{}, command: python(), roles: psLite},
		"horovod":               {framework: framework.Horovod{}, command: []string{"horovodrun", "--gloo", "python3", "train.py"}},
		"horovod-elastic":       {framework: framework.Horovod{}, command: []string{"horovodrun", "python3", "train.py"}, change: elastic},
		"horovod-script":        {framework: framework.Horovod{}, command: python()},
		"deepspeed":             {framework: framework.DeepSpeed{}, command: []string{"deepspeed", "train.py"}},
		"deepspeed-script":      {framework: framework.DeepSpeed{}, command: python(), same: "torch"},
		"ray":                   {framework: framework.Ray{}, command: []string{"python3", "driver.py"}},
		"mpi":                   {framework: framework.MPI{}, command: []string{"mpirun", "./pi"}},
		"torch-host-network":    {framework: framework.Torch{}, command: python(), change: oneAddress, same: "torch"},
		"lightgbm-host-network": {framework: framework.LightGBM{}, command: python(), change: oneAddress},
	}
}

// oneAddress moves all workers to one node, with its host network.
func oneAddress(c *framework.Cluster) {
	for i := range c.Workers {
		c.Workers[i].IP, c.Workers[i].Host = c.Workers[0].IP, c.Workers[0].Host
	}
}

// prepare runs a variant. If the variant is impossible for a number of workers, the golden file
// holds its error.
func (v variant) prepare(t *testing.T, workers, procs int) (framework.Cluster, framework.Launch, error) {
	c := contract.Cluster(workers, procs, v.command)
	if v.roles != nil {
		roles, err := framework.ParseRoles(v.roles(workers), workers)
		require.NoError(t, err)
		for i, r := range roles {
			c.Workers[i].Role, c.Workers[i].RoleIndex = r.Name, r.Index
		}
	}
	if v.change != nil {
		v.change(&c)
	}
	l, err := v.framework.Prepare(c)
	return c, l, err
}

// each runs check for every variant with 1, 2 and 3 workers of 1, 2 and 8 processes. At least one
// combination of each variant must be possible.
func each(t *testing.T, check func(t *testing.T, c framework.Cluster, l framework.Launch)) {
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 2, 3} {
				for _, procs := range []int{1, 2, 8} {
					c, l, err := v.prepare(t, workers, procs)
					if err == nil {
						check(t, c, l)
					}
				}
			}
		})
	}
}

func TestGolden(t *testing.T) {
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, workers := range []int{1, 2, 3} {
				for _, procs := range []int{1, 2, 8} {
					fmt.Fprintf(&text, "== %d workers of %d\n", workers, procs)
					_, l, err := v.prepare(t, workers, procs)
					if err != nil {
						fmt.Fprintf(&text, "error: %v\n\n", err)
						continue
					}
					write(&text, l)
				}
			}
			file := filepath.Join("testdata", cmp.Or(v.same, name)+".golden")
			if *update && v.same == "" {
				require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())
		})
	}
}

// write prints a launch. For each process after the first, it prints only the differences from the
// previous process.
func write(text *strings.Builder, l framework.Launch) {
	if l.Any {
		text.WriteString("the first that ends well decides\n")
	}
	if l.Shims {
		text.WriteString("ssh, rsh and pdsh are the agent\n")
	}
	for _, w := range l.Warnings {
		fmt.Fprintf(text, "warning: %s\n", w)
	}
	for _, f := range l.Files {
		fmt.Fprintf(text, "file %s\n", f.Name)
	}
	if len(l.Argv) > 0 {
		fmt.Fprintf(text, "launcher: %s\n", strings.Join(l.Argv, " "))
	}
	for _, v := range l.Env {
		fmt.Fprintf(text, "  %s=%s\n", v.Name, v.Value)
	}
	before := map[string]string{}
	for _, p := range l.Processes {
		fmt.Fprintf(text, "%s %d on worker %d: rank %d, local %d, %s", p.Role, p.Index, p.Worker, p.Rank, p.Local,
			[]string{"works", "decides", "serves"}[p.Part])
		if p.After != "" {
			fmt.Fprintf(text, ", after %s", p.After)
		}
		fmt.Fprintf(text, ": %s\n", strings.Join(p.Argv, " "))
		now := map[string]string{}
		for _, v := range p.Env {
			now[v.Name] = v.Value
			if old, there := before[v.Name]; !there || old != v.Value {
				fmt.Fprintf(text, "  %s=%s\n", v.Name, v.Value)
			}
			delete(before, v.Name)
		}
		for _, name := range sorted(before) {
			fmt.Fprintf(text, "  without %s\n", name)
		}
		before = now
	}
	text.WriteString("\n")
}

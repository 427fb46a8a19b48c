package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
)

func TestValidate(t *testing.T) {
	good := func(change func(*Config)) Config {
		c := Defaults()
		c.Command = []string{"mpirun", "./pi"}
		c.Workers, c.Job = 4, "pi"
		c.Origin = map[string]string{}
		change(&c)
		return c
	}
	fake := func(change func(*Config)) Config {
		return good(func(c *Config) {
			c.Workers, c.Job, c.Fake, c.FakeGiven = 0, "", 2, true
			change(c)
		})
	}
	for name, tc := range map[string]struct {
		config Config
		want   string // "" means valid
		hint   string
	}{
		"in a cluster":      {config: good(func(*Config) {})},
		"fake":              {config: fake(func(*Config) {})},
		"no command":        {good(func(c *Config) { c.Command = nil }), "no command given", "agent run --workers=4 --job=NAME -- mpirun ./program"},
		"no command, fake":  {fake(func(c *Config) { c.Command = nil }), "no command given", "agent run --fake=2 -- mpirun ./program"},
		"-np before mpirun": {fake(func(c *Config) { c.Command = []string{"2", "mpirun"} }), "the command is a number: 2", "mpirun -np 2"},
		"no workers, a command": {good(func(c *Config) { c.Workers = 0; c.Command = []string{"mpirun", "a b"} }), "the number of workers is not set",
			"on this machine: agent run --fake=4 -- mpirun 'a b'"},
		"no workers, a framework": {good(func(c *Config) { c.Workers, c.Framework = 0, "torch"; c.Command = []string{"python3", "x.py"} }), "the number of workers is not set",
			"on this machine: agent run --fake=4 --framework=torch -- python3 x.py"},
		"empty command":             {good(func(c *Config) { c.Command = []string{""} }), "the command is empty", ""},
		"no workers":                {good(func(c *Config) { c.Workers = 0 }), "the number of workers is not set", "MUSTER_WORKERS=4"},
		"no job":                    {good(func(c *Config) { c.Job = "" }), "no pods are selected as workers", "MUSTER_JOB=NAME"},
		"selector instead of a job": {config: good(func(c *Config) { c.Job, c.Selector = "", "app in (a,b)" })},
		"selector syntax":           {good(func(c *Config) { c.Selector = "a==b==c" }), `--selector="a==b==c"`, "label=value"},
		"pods by name":              {config: good(func(c *Config) { c.Job, c.Workers, c.Pods = "", 2, []string{"pi-worker-0", "pi-worker-1"} })},
		"pods, too few":             {good(func(c *Config) { c.Pods = []string{"pi-worker-0"} }), "--pods names 1 worker, but the run needs 4", "--pods=pi-worker-0,pi-worker-1"},
		"pods, one twice":           {good(func(c *Config) { c.Workers, c.Pods = 2, []string{"a", "b", "a"} }), "--pods names a twice", ""},
		"pods, no name":             {good(func(c *Config) { c.Workers, c.Pods = 2, []string{"a", "b c"} }), `--pods: "b c" is not a valid pod name`, ""},
		"pods and selector":         {good(func(c *Config) { c.Selector, c.Pods, c.Origin["selector"] = "app=x", []string{"a"}, "flag --selector" }), "--pods and --selector=app=x cannot be used together", "use only one of them"},
		"invalid job name":          {good(func(c *Config) { c.Job = "a b" }), "muster.dev/job=a b", "label=value"},
		"no namespace":              {good(func(c *Config) { c.Namespace = "lab/pi" }), "--namespace=lab/pi is not the name of a namespace", "kubectl get namespaces"},
		"no slots":                  {good(func(c *Config) { c.Slots = 0 }), "--slots=0", "--slots=2"},
		"fake zero":                 {fake(func(c *Config) { c.Fake = 0 }), "--fake=0 starts no worker", "--fake=2 starts two workers on this machine"},
		"fake negative":             {fake(func(c *Config) { c.Fake = -1 }), "--fake=-1 starts no worker", ""},
		"fake too many":             {fake(func(c *Config) { c.Fake = 100000 }), "is too many for one machine", ""},
		"fake and workers": {fake(func(c *Config) { c.Workers = 3; c.Origin["workers"] = "flag --workers" }),
			"--fake=2 and --workers=3 conflict with each other", "omit --workers"},
		"fake, workers by env":        {config: fake(func(c *Config) { c.Workers = 3; c.Origin["workers"] = "env MUSTER_WORKERS" })},
		"fault without fake":          {good(func(c *Config) { c.FakeFaults = []string{"drop every=1MiB"} }), "--fake-fault needs --fake", "--fake=4"},
		"fault for an unknown worker": {fake(func(c *Config) { c.FakeFaults = []string{"kill worker=2 after=3s"} }), "no worker 2", "0 to 1"},
		"exit rule":                   {good(func(c *Config) { c.Exit = "loose" }), "--exit=loose: unknown value", "want strict, command"},
		"log format":                  {good(func(c *Config) { c.LogFormat = "xml" }), "--log-format=xml: unknown value", "auto, console, json"},
		"log level":                   {good(func(c *Config) { c.LogLevel = "loud" }), "--log-level=loud: unknown value", "debug, info"},
		"negative timeout":            {good(func(c *Config) { c.Timeout = -time.Second }), "--timeout=-1s must not be negative", "10m"},
		"lease too short to redial":   {good(func(c *Config) { c.Lease = time.Millisecond }), "too short", "15m"},
		"zero grace kills at once":    {config: good(func(c *Config) { c.Grace = 0 })},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.config.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, names.ExitUsage, failure.CodeOf(err))
			var f *failure.Failure
			require.ErrorAs(t, err, &f)
			require.Contains(t, f.Hint(), tc.hint)
		})
	}
}

func TestRule(t *testing.T) {
	for argv0, want := range map[string]verdict.ExitRule{
		"mpirun": verdict.ExitStrict, "/usr/lib/openmpi/bin/mpirun": verdict.ExitStrict, "mpirun.openmpi": verdict.ExitStrict,
		"mpiexec": verdict.ExitStrict, "mpiexec.hydra": verdict.ExitStrict, "mpiexec.mpich": verdict.ExitStrict,
		"prterun": verdict.ExitStrict, "orterun": verdict.ExitStrict,
		"sh": verdict.ExitScript, "./mpirun-wrapper": verdict.ExitScript, "horovodrun": verdict.ExitScript, "srun": verdict.ExitScript,
	} {
		require.Equal(t, want, Config{Command: []string{argv0}}.Rule(), argv0)
	}
	require.Equal(t, verdict.ExitCommand, Config{Command: []string{"mpirun"}, Launching: Launching{Exit: verdict.ExitCommand}}.Rule())
	require.Equal(t, verdict.ExitStrict, Config{Command: []string{"sh"}, Launching: Launching{Exit: verdict.ExitStrict}}.Rule())
	require.Equal(t, verdict.ExitCommand, Config{Command: []string{"sh"}, Launching: Launching{Exit: verdict.ExitCommand}}.Rule())
}

func TestWorkerSelector(t *testing.T) {
	require.Equal(t, "muster.dev/job=pi,muster.dev/role=worker", Config{Selection: Selection{Job: "pi"}}.WorkerSelector())
	require.Equal(t, "app=x", Config{Selection: Selection{Job: "pi", Selector: "app=x"}}.WorkerSelector())
}

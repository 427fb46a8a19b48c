package config

import (
	"time"

	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// Config is everything that a launcher can be told. Defaults gives the
// defaults, flags and MUSTER_* variables overwrite them, Validate judges. From
// then on it does not change: WithNamespace and WithPodGrace return another one.
type Config struct {
	Command []string // argv of the user's command

	Selection
	Limits
	Launching
	Printing
	Rehearsal
	Pod

	Origin map[string]string // where each setting came from, by flag name
}

// Selection says which workers there are to be, and where they are found.
type Selection struct {
	Workers        int  `flag:"workers"`         // how many workers to wait for
	LeastWorkers   int  `flag:"min-workers"`     // of an elastic run; 0: all, not elastic
	MostWorkers    int  `flag:"max-workers"`     // of an elastic run; 0: Workers, or Fake
	DynamicWorkers bool `flag:"dynamic-workers"` // TF_CONFIG in its sparse form
	Slots          int  `flag:"slots"`           // slots of each worker
	// LauncherSlots are ranks that mpirun puts into the launcher besides; 0: none.
	LauncherSlots int      `flag:"launcher-slots"`
	Job           string   `flag:"job"`          // the job's name; selects the workers where Selector is empty
	Selector      string   `flag:"selector"`     // label selector of the workers
	Pods          []string `flag:"pods"`         // in place of Selector: the workers' pods by name
	Namespace     string   `flag:"namespace"`    // "": the pod's own, else the kubeconfig's
	Kubeconfig    string   `flag:"kubeconfig"`   // "": as kubectl finds it, else the pod's service account
	Context       string   `flag:"context"`      // kubeconfig context
	Container     string   `flag:"container"`    // container of the worker pods; "": found
	WorkerAgent   string   `flag:"worker-agent"` // path of agent in the workers; "": our own path
}

// Limits says how long what may last, and what follows.
type Limits struct {
	Timeout       time.Duration   `flag:"timeout"`         // how long to wait for the workers; 0: no limit
	HopelessAfter time.Duration   `flag:"hopeless-after"`  // how long a permanent reason may last
	NodeLostAfter time.Duration   `flag:"node-lost-after"` // how long link and Ready may both be down
	Lease         time.Duration   `flag:"lease"`           // how long workers keep sessions without a launcher
	Grace         time.Duration   `flag:"grace"`           // between asking to stop and killing
	podsGrace     bool            // Grace is that of our pod
	FrozenAfter   time.Duration   `flag:"frozen-after"` // how long an MPI daemon may be stopped; 0: for ever
	HangAfter     time.Duration   `flag:"hang-after"`   // how long nothing may happen before it is called a hang; 0: for ever
	HangAction    string          `flag:"hang-action"`  // report or stop
	Stacks        string          `flag:"stacks"`       // auto or never: whether the stacks of ranks are taken
	ExitWithin    time.Duration   `flag:"exit-within"`  // how long ranks may outlast the first that ended with 0; 0: for ever
	Progress      []progress.Word `flag:"progress"`     // rules for output lines, as given
	KeepWorkers   bool            `flag:"keep-workers"` // do not tell the workers that the job is over
	MaxRestarts   int             `flag:"max-restarts"` // how often a run that failed is begun again, in place
	RestartOn     string          `flag:"restart-on"`   // after which ends; "": retry.Default
}

// Launching says what is started where, and whose word counts for the exit code.
type Launching struct {
	Framework      string           `flag:"framework"` // its name; "" or auto: found by the command
	Plugins        []string         `flag:"plugin"`    // --plugin as given
	OpenPlugin     external.Opener  // nil: plugins are another binary's
	Compat         string           `flag:"compat"`           // the environment as an operator gave it: kubeflow-v1
	ProcsPerWorker int              `flag:"procs-per-worker"` // processes that we start on each worker; 0: one
	Roles          string           `flag:"roles"`            // of the workers: "chief=1,worker=2"
	Success        string           `flag:"success"`          // whose end decides: auto, all, any, ROLE, ROLE:INDEX
	Chdir          string           `flag:"chdir"`            // working directory of the processes
	Env            []string         `flag:"env"`              // K=V, for the processes
	Interface      string           `flag:"interface"`        // network interface of the workers, a name or a CIDR
	Port           int              `flag:"port"`             // first of a block; 0: chosen
	Hostfile       string           `flag:"hostfile"`         // where to write the hostfile; "": /etc/mpi, else the run directory
	Exit           verdict.ExitRule `flag:"exit"`             // whose word counts
	Shims          bool             `flag:"shims"`            // ssh, rsh and pdsh on PATH are the agent
	DryRun         bool             `flag:"dry-run"`          // print what would be run
}

// Printing says what is printed and which files are written.
type Printing struct {
	Output      string   `flag:"output"`       // tag, plain or dir=PATH; "": chosen
	OnlyRanks   string   `flag:"only-ranks"`   // whose output is shown: "0,2-3"; "": all
	Metrics     []string `flag:"metric"`       // --metric as given
	MetricsFile string   `flag:"metrics-file"` // where they go; "": where Kubeflow Pipelines looks
	Report      string   `flag:"report"`       // file for the JSON report
	LogFormat   string   `flag:"log-format"`   // auto, console or json
	LogLevel    string   `flag:"log-level"`    // debug, info, warn or error
	Quiet       bool     `flag:"quiet"`        // only errors
	Verbose     bool     `flag:"verbose"`      // sessions, links and redials in the last line
}

// Rehearsal says which workers are processes on this machine.
type Rehearsal struct {
	Fake       int      `flag:"fake"` // number of worker processes on this machine
	FakeGiven  bool     // --fake was given, so 0 is a mistake
	FakeFaults []string `flag:"fake-fault"` // --fake-fault as given
}

// Pod is what the pod of the launcher tells it by its environment.
type Pod struct {
	PodName        string // our pod, by the downward API
	PodUID         string // its uid
	PodIP          string // its address
	MPIDir         string // where old manifests look for the hostfile
	TerminationLog string // where the kubelet reads our last words
}

// Defaults is the Config of a launcher that was told nothing.
func Defaults() Config {
	c := Config{Pod: Pod{MPIDir: names.MPIDir, TerminationLog: names.TerminationLog}}
	settings.Defaults(&c, settings.OfRun)
	return c
}

// JSONLines reports whether every line of ours is JSON. The format "auto" concerns
// the log alone.
func (c Config) JSONLines() bool { return c.LogFormat == names.LogJSON }

// IsFake tells whether workers are processes on this machine.
func (c Config) IsFake() bool { return c.FakeGiven || c.Fake != 0 }

// WorkerSelector is the label selector of the workers.
func (c Config) WorkerSelector() string {
	if c.Selector != "" {
		return c.Selector
	}
	return names.LabelJob + "=" + c.Job + "," + names.LabelRole + "=" + names.RoleWorker
}

// Rule is the rule that counts for the command: --exit, else strict for a
// command whose name is one of the MPI launchers', and script for all others.
func (c Config) Rule() verdict.ExitRule {
	if c.Exit != verdict.ExitAuto || len(c.Command) == 0 {
		return c.Exit
	}
	if names.IsMPIRun(c.Command[0]) {
		return verdict.ExitStrict
	}
	return verdict.ExitScript
}

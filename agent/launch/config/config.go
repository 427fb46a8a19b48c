package config

import (
	"time"

	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// Config holds every setting of a launcher. Defaults returns the default settings, flags and
// MUSTER_* variables overwrite them, and Validate checks the result. A validated Config does not
// change: WithNamespace and WithPodGrace return a new one.
type Config struct {
	Command []string // argv of the user's command

	Selection
	Limits
	Checking
	Launching
	Printing
	Rehearsal
	Pod

	Origin map[string]string // where each setting came from, by flag name
}

// Selection says how many workers to use, and where to find them.
type Selection struct {
	Workers        int  `flag:"workers"`         // how many workers to wait for
	LeastWorkers   int  `flag:"min-workers"`     // minimum of an elastic run; 0: all workers, not elastic
	MostWorkers    int  `flag:"max-workers"`     // maximum of an elastic run; 0: Workers, or Fake
	Spares         int  `flag:"spares"`          // extra workers, which replace workers that fail
	DynamicWorkers bool `flag:"dynamic-workers"` // TF_CONFIG in its sparse form
	Slots          int  `flag:"slots"`           // slots of each worker
	// LauncherSlots is the number of ranks that mpirun also starts in the launcher; 0: none.
	LauncherSlots int      `flag:"launcher-slots"`
	Job           string   `flag:"job"`          // the job's name; selects the workers if Selector is empty
	Selector      string   `flag:"selector"`     // label selector of the workers
	Pods          []string `flag:"pods"`         // the workers' pods by name, instead of Selector
	Namespace     string   `flag:"namespace"`    // "": the pod's own, else the kubeconfig's
	Kubeconfig    string   `flag:"kubeconfig"`   // "": as kubectl finds it, else the pod's service account
	Context       string   `flag:"context"`      // kubeconfig context
	Container     string   `flag:"container"`    // container of the worker pods; "": detected
	WorkerAgent   string   `flag:"worker-agent"` // path of the agent in the workers; "": our own path
	Transport     string   `flag:"transport"`    // exec, network or auto: how to reach workers
	KeyFile       string   `flag:"key-file"`     // path of the launcher's key; "": none
	WorkerPort    int      `flag:"worker-port"`  // TCP port of workers for launchers that connect by network
	// TopologyKeys are the node labels for the order of ranks, from coarse to fine; none: the default.
	TopologyKeys []string `flag:"topology-keys"`
}

// Limits holds time limits and what happens when they expire.
type Limits struct {
	Timeout       time.Duration   `flag:"timeout"`         // how long to wait for the workers; 0: no limit
	HopelessAfter time.Duration   `flag:"hopeless-after"`  // how long a permanent error may last
	NodeLostAfter time.Duration   `flag:"node-lost-after"` // how long a link and its pod's Ready may both be down
	Lease         time.Duration   `flag:"lease"`           // how long workers keep sessions without a launcher
	Grace         time.Duration   `flag:"grace"`           // time between asking a process to stop and killing it
	podsGrace     bool            // Grace is that of the launcher's pod
	FrozenAfter   time.Duration   `flag:"frozen-after"` // how long an MPI daemon may be stopped; 0: no limit
	HangAfter     time.Duration   `flag:"hang-after"`   // how long nothing may happen before it is a hang; 0: no limit
	HangAction    string          `flag:"hang-action"`  // report or stop
	Stacks        string          `flag:"stacks"`       // auto or never: whether to take the stacks of ranks
	ExitWithin    time.Duration   `flag:"exit-within"`  // how long ranks may outlast the first one that exited with 0; 0: no limit
	Progress      []progress.Word `flag:"progress"`     // rules for output lines, as given
	// StragglerAfter is how long a rank must be slower than the others until it is named; 0: never.
	StragglerAfter time.Duration `flag:"straggler-after"`
	KeepWorkers    bool          `flag:"keep-workers"` // do not tell the workers that the job is over

	Restarts
}

// Restarts says which failures are retried, and how often.
type Restarts struct {
	MaxRestarts    int    `flag:"max-restarts"`     // maximum number of restarts of a failed run
	RestartOn      string `flag:"restart-on"`       // which failures are retried; "": retry.Default
	RestartPolicy  string `flag:"restart-policy"`   // rules that come before RestartOn, as JSON
	MaxRestartsPer string `flag:"max-restarts-per"` // limit by time: "6/1h"; "": none
	MaxNoProgress  int    `flag:"max-no-progress"`  // as given; see Config.NoProgress
	ProgressFile   string `flag:"progress-file"`    // glob of the files that show progress; "": none
}

// Checking says how to check workers before ranks start.
type Checking struct {
	Preflight  string        `flag:"preflight"`               // off, warn or fail: what to do with findings
	Check      string        `flag:"preflight-command"`       // shell command for each worker; "": none
	GroupCheck string        `flag:"preflight-group-command"` // shell command for all workers together; "": none
	CheckTime  time.Duration `flag:"preflight-timeout"`       // how long each of these may take
}

// Launching says what to start where, and what decides the exit code.
type Launching struct {
	Framework      string           `flag:"framework"` // its name; "" or auto: detected from the command
	Plugins        []string         `flag:"plugin"`    // --plugin as given
	OpenPlugin     external.Opener  // nil: another binary runs the plugins
	Compat         string           `flag:"compat"`           // the environment that an operator provided: kubeflow-v1
	ProcsPerWorker int              `flag:"procs-per-worker"` // processes that Muster starts on each worker; 0: one
	Roles          string           `flag:"roles"`            // roles of the workers: "chief=1,worker=2"
	Success        string           `flag:"success"`          // whose exit decides: auto, all, any, ROLE, ROLE:INDEX
	Chdir          string           `flag:"chdir"`            // working directory of the processes
	Env            []string         `flag:"env"`              // K=V, for the processes
	Interface      string           `flag:"interface"`        // network interface of the workers, a name or a CIDR
	RequireRDMA    bool             `flag:"require-rdma"`     // NCCL must not fall back to sockets
	Port           int              `flag:"port"`             // first port of a block; 0: chosen
	Hostfile       string           `flag:"hostfile"`         // where to write the hostfile; "": /etc/mpi, else the run directory
	Exit           verdict.ExitRule `flag:"exit"`             // what decides the exit code
	Shims          bool             `flag:"shims"`            // ssh, rsh and pdsh on PATH are the agent
	DryRun         bool             `flag:"dry-run"`          // print what would run
}

// Printing says what to print and which files to write.
type Printing struct {
	Output      string   `flag:"output"`       // tag, plain, dir=PATH or s3://BUCKET/PREFIX; "": chosen
	OnlyRanks   string   `flag:"only-ranks"`   // whose output is shown: "0,2-3"; "": all
	Color       string   `flag:"color"`        // auto, always or never
	Metrics     []string `flag:"metric"`       // --metric as given
	MetricsFile string   `flag:"metrics-file"` // where metrics go; "": where Kubeflow Pipelines looks
	MetricsAddr string   `flag:"metrics-addr"` // where metrics of the run are served; "" or 0: nowhere
	Report      string   `flag:"report"`       // file for the JSON report
	Events      string   `flag:"events"`       // file for the events of the run
	LogFormat   string   `flag:"log-format"`   // auto, console or json
	LogLevel    string   `flag:"log-level"`    // debug, info, warn or error
	Quiet       bool     `flag:"quiet"`        // print only errors
	Verbose     bool     `flag:"verbose"`      // report sessions, links and redials in the last line
}

// Rehearsal describes workers that are processes on this machine.
type Rehearsal struct {
	Fake       int      `flag:"fake"` // number of worker processes on this machine
	FakeGiven  bool     // --fake was given, so 0 is a mistake
	FakeFaults []string `flag:"fake-fault"` // --fake-fault as given
}

// Pod holds what the launcher's pod tells it in environment variables.
type Pod struct {
	PodName        string // our pod's name, from the downward API
	PodUID         string // its uid
	PodIP          string // its address
	MPIDir         string // where old manifests look for the hostfile
	TerminationLog string // where the kubelet reads the termination message
}

// Defaults returns the Config of a launcher without flags or variables.
func Defaults() Config {
	c := Config{Pod: Pod{MPIDir: names.MPIDir, TerminationLog: names.TerminationLog}}
	settings.Defaults(&c, settings.OfRun)
	return c
}

// JSONLines reports whether the launcher prints every line as JSON. The format "auto" concerns only
// the log.
func (c Config) JSONLines() bool { return c.LogFormat == names.LogJSON }

// IsFake reports whether the workers are processes on this machine.
func (c Config) IsFake() bool { return c.FakeGiven || c.Fake != 0 }

// SelectsWorkers reports whether a setting says which workers to use.
func (c Config) SelectsWorkers() bool {
	return c.IsFake() || c.Job != "" || c.Selector != "" || len(c.Pods) > 0
}

// WorkerSelector returns the label selector of the workers.
func (c Config) WorkerSelector() string {
	if c.Selector != "" {
		return c.Selector
	}
	return names.LabelJob + "=" + c.Job + "," + names.LabelRole + "=" + names.RoleWorker
}

// Rule returns the rule for the exit code of the command: --exit if given, else strict if the
// command is an MPI launcher, else script.
func (c Config) Rule() verdict.ExitRule {
	if c.Exit != verdict.ExitAuto || len(c.Command) == 0 {
		return c.Exit
	}
	if names.IsMPIRun(c.Command[0]) {
		return verdict.ExitStrict
	}
	return verdict.ExitScript
}

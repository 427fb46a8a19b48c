package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/hostfile"
)

// Config is everything that a launcher can be told. Defaults gives the
// defaults, flags and MUSTER_* variables overwrite them, Validate judges. From
// then on it does not change: WithNamespace and WithPodGrace return another one.
type Config struct {
	Command []string // argv of the user's command

	Workers int // how many workers to wait for
	Slots   int // slots of each worker
	// LauncherSlots are ranks that mpirun puts into the launcher besides; 0: none.
	LauncherSlots int
	Job           string   // the job's name; selects the workers where Selector is empty
	Selector      string   // label selector of the workers
	Pods          []string // in place of Selector: the workers' pods by name
	Namespace     string   // "": the pod's own, else the kubeconfig's
	Kubeconfig    string   // "": as kubectl finds it, else the pod's service account
	Context       string   // kubeconfig context
	Container     string   // container of the worker pods; "": found
	WorkerAgent   string   // path of agent in the workers; "": our own path

	Timeout       time.Duration   // how long to wait for the workers; 0: no limit
	HopelessAfter time.Duration   // how long a permanent reason may last
	NodeLostAfter time.Duration   // how long link and Ready may both be down
	Lease         time.Duration   // how long workers keep sessions without a launcher
	Grace         time.Duration   // between asking to stop and killing
	FrozenAfter   time.Duration   // how long an MPI daemon may be stopped; 0: for ever
	HangAfter     time.Duration   // how long nothing may happen before it is called a hang; 0: for ever
	HangAction    string          // report or stop
	Stacks        string          // auto or never: whether the stacks of ranks are taken
	ExitWithin    time.Duration   // how long ranks may outlast the first that ended with 0; 0: for ever
	Progress      []progress.Word // rules for output lines, as given
	KeepWorkers   bool            // do not tell the workers that the job is over
	MaxRestarts   int             // how often a run that failed is begun again, in place
	RestartOn     string          // after which ends; "": retry.Default

	Hostfile string           // where to write the hostfile; "": /etc/mpi, else the run directory
	Exit     verdict.ExitRule // whose word counts
	Report   string           // file for the JSON report
	DryRun   bool             // print what would be run
	Shims    bool             // ssh, rsh and pdsh on PATH are the agent

	Framework      string   // its name; "" or auto: found by the command
	Plugins        []string // --plugin as given
	Compat         string   // the environment as an operator gave it: kubeflow-v1
	ProcsPerWorker int      // processes that we start on each worker; 0: one
	Roles          string   // of the workers: "chief=1,worker=2"
	Success        string   // whose end decides: auto, all, any, ROLE, ROLE:INDEX
	Chdir          string   // working directory of the processes
	Env            []string // K=V, for the processes
	Interface      string   // network interface of the workers, a name or a CIDR
	Port           int      // first of a block; 0: chosen
	LeastWorkers   int      // of an elastic run; 0: all, not elastic
	MostWorkers    int      // of an elastic run; 0: Workers, or Fake
	DynamicWorkers bool     // TF_CONFIG in its sparse form
	Output         string   // tag, plain or dir=PATH; "": chosen
	OnlyRanks      string   // whose output is shown: "0,2-3"; "": all
	Metrics        []string // --metric as given
	MetricsFile    string   // where they go; "": where Kubeflow Pipelines looks

	Fake       int      // number of worker processes on this machine
	FakeGiven  bool     // --fake was given, so 0 is a mistake
	FakeFaults []string // --fake-fault as given

	LogFormat string // auto, console or json
	LogLevel  string // debug, info, warn or error
	Quiet     bool   // only errors
	Verbose   bool   // sessions, links and redials in the last line

	PodName        string // our pod, by the downward API
	PodUID         string // its uid
	PodIP          string // its address
	MPIDir         string // where old manifests look for the hostfile
	TerminationLog string // where the kubelet reads our last words

	OpenPlugin external.Opener // nil: plugins are another binary's

	podsGrace bool // Grace is that of our pod

	Origin map[string]string // where each setting came from, by flag name
}

// Defaults is the Config of a launcher that was told nothing.
func Defaults() Config {
	return Config{
		Slots:          1,
		Timeout:        10 * time.Minute,
		HopelessAfter:  10 * time.Second,
		NodeLostAfter:  30 * time.Second,
		Lease:          15 * time.Minute,
		Grace:          10 * time.Second,
		FrozenAfter:    30 * time.Second,
		HangAfter:      defaultHang,
		HangAction:     hangReport,
		Stacks:         stacksAuto,
		RestartOn:      retry.Default,
		LogFormat:      "auto",
		LogLevel:       "warn",
		MPIDir:         names.MPIDir,
		TerminationLog: names.TerminationLog,
	}
}

// jsonLines reports whether every line of ours is JSON. The format "auto" concerns
// the log alone.
func (c Config) jsonLines() bool { return c.LogFormat == names.LogJSON }

// IsFake tells whether workers are processes on this machine.
func (c Config) IsFake() bool { return c.FakeGiven || c.Fake != 0 }

// Validate judges a Config as a whole. Errors are *failure.Failure with code 64.
func (c Config) Validate() error {
	if err := c.validateCommand(); err != nil {
		return err
	}
	return c.ValidateHosts()
}

// ValidateHosts judges what is needed to find workers, without a command.
func (c Config) ValidateHosts() error {
	if c.LauncherSlots < 0 || c.LauncherSlots > hostfile.MaxSlots {
		return failure.Usage("--launcher-slots=2 gives the launcher two ranks besides the workers'", "--launcher-slots=%d is no number of ranks", c.LauncherSlots)
	}
	if c.Slots < 1 {
		return failure.Usage("--slots=2 gives every worker two slots", "--slots=%d: a worker has at least one slot", c.Slots)
	}
	if err := c.validateTimes(); err != nil {
		return err
	}
	if err := c.validateWords(); err != nil {
		return err
	}
	if err := c.validateHang(); err != nil {
		return err
	}
	if err := c.validateProgress(); err != nil {
		return err
	}
	if err := c.validateLaunch(); err != nil {
		return err
	}
	if c.IsFake() {
		return c.validateFake()
	}
	return c.validateCluster()
}

func (c Config) validateCommand() error {
	example := "agent run --workers=4 --job=NAME -- mpirun ./program"
	if c.IsFake() {
		example = fmt.Sprintf("agent run --fake=%d -- mpirun ./program", max(c.Fake, 2))
	}
	if len(c.Command) == 0 {
		return failure.Usage(example, "no command given")
	}
	if c.Command[0] == "" {
		return failure.Usage(example, "the command is an empty word")
	}
	if _, err := strconv.Atoi(c.Command[0]); err == nil {
		// -np 2 before mpirun is our -n with the value p, and then the command 2.
		example = strings.Replace(example, "mpirun", "mpirun -np "+c.Command[0], 1)
		return failure.Usage("mpirun's options come after it: "+example, "the command is a number: %s", c.Command[0])
	}
	return nil
}

func (c Config) validateFake() error {
	if c.Fake < 1 {
		return failure.Usage("--fake=2 starts two workers on this machine", "--fake=%d starts no worker", c.Fake)
	}
	if c.Fake > maxFake {
		return failure.Usage(fmt.Sprintf("--fake takes 1 to %d", maxFake), "--fake=%d is more than one machine carries", c.Fake)
	}
	if strings.HasPrefix(c.Origin["workers"], "flag") && c.Workers != c.Fake {
		return failure.Usage("leave --workers away", "--fake=%d and --workers=%d contradict each other", c.Fake, c.Workers)
	}
	_, err := ParseFaults(c.FakeFaults, c.Fake+c.coming())
	return err
}

func (c Config) validateCluster() error {
	if len(c.FakeFaults) > 0 {
		return failure.Usage("add --fake=4", "--fake-fault needs --fake: faults are never made in a cluster")
	}
	if c.most() < 1 {
		return failure.Usage("--workers=4, or MUSTER_WORKERS=4 in the pod's environment; without a cluster, on this machine: "+c.onThisMachine(),
			"how many workers to wait for is not known")
	}
	if len(c.Pods) > 0 {
		return c.validatePods()
	}
	if c.Selector == "" && c.Job == "" {
		return failure.Usage("--job=NAME for pods labelled "+names.LabelJob+"=NAME,"+names.LabelRole+"="+names.RoleWorker+
			", --selector=app=x for others, or MUSTER_JOB=NAME in the pod's environment",
			"which pods are the workers is not known")
	}
	if _, err := labels.Parse(c.WorkerSelector()); err != nil {
		return failure.Usage("a selector is written as label=value,label=value", "--selector=%q: %w", c.WorkerSelector(), err)
	}
	return nil
}

// onThisMachine is the user's command over fake workers.
func (c Config) onThisMachine() string {
	words := []string{"agent run --fake=4"}
	if c.Framework != "" && c.Framework != framework.Auto {
		words = append(words, "--framework="+phrase.Quote(c.Framework)) // without it, it would run in the launcher alone
	}
	words = append(words, "--")
	for _, word := range c.Command {
		words = append(words, phrase.Quote(word))
	}
	return strings.Join(words, " ")
}

func (c Config) validateTimes() error {
	for _, t := range []struct {
		flag string
		d    time.Duration
	}{
		{"timeout", c.Timeout}, {"hopeless-after", c.HopelessAfter}, {"node-lost-after", c.NodeLostAfter},
		{"lease", c.Lease}, {"grace", c.Grace}, {"frozen-after", c.FrozenAfter},
	} {
		if t.d < 0 {
			return failure.Usage("a time is written as 90s, 10m or 1h", "--%s=%s lies in the past", t.flag, t.d)
		}
	}
	if c.Lease < time.Second {
		return failure.Usage("--lease=15m is the default", "--lease=%s is too short: a link that drops needs time to come back", c.Lease)
	}
	return nil
}

func (c Config) validateWords() error {
	for _, w := range []struct {
		flag, value string
		known       []string
	}{
		{"exit", string(c.Exit), []string{"", string(verdict.ExitStrict), string(verdict.ExitCommand)}},
		{"log-format", c.LogFormat, []string{"auto", "console", "json"}},
		{"log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
	} {
		if !slices.Contains(w.known, w.value) {
			return failure.Usage("it takes "+strings.TrimPrefix(strings.Join(w.known, ", "), ", "), "--%s=%s is not known", w.flag, w.value)
		}
	}
	return nil
}

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
	if IsMPIRun(c.Command[0]) {
		return verdict.ExitStrict
	}
	return verdict.ExitScript
}

// IsMPIRun tells whether argv[0] is an MPI launcher by its name: mpirun,
// mpiexec, orterun, prterun, with a family's suffix (mpiexec.hydra,
// mpirun.openmpi, mpiexec.mpich) or without.
func IsMPIRun(argv0 string) bool {
	stem, _, _ := strings.Cut(filepath.Base(argv0), ".")
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun", "prterun"}, stem)
}

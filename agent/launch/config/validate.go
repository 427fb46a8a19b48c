package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/hostfile"
)

// Validate checks the whole Config. Errors are *failure.Failure with code 64.
func (c Config) Validate() error {
	if err := c.validateCommand(); err != nil {
		return err
	}
	return c.ValidateHosts()
}

// ValidateHosts checks the settings that find workers. It needs no command.
func (c Config) ValidateHosts() error {
	if c.LauncherSlots < 0 || c.LauncherSlots > hostfile.MaxSlots {
		return failure.Usage("--launcher-slots=2 adds two ranks in the launcher", "--launcher-slots=%d: want 0 to %d", c.LauncherSlots, hostfile.MaxSlots)
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
	if err := c.validateTopology(); err != nil {
		return err
	}
	if err := c.validateTransport(); err != nil {
		return err
	}
	if c.IsFake() {
		return c.validateFake()
	}
	return c.validateCluster()
}

// ValidateValues checks the settings that can be judged without the pods of the job, its workers and
// the files in its image. It is for a caller that creates the launcher's pod.
func (c Config) ValidateValues() error {
	for _, check := range []func() error{c.validateTimes, c.validateWords, c.validateHang, c.validateTopology, c.validateInterface} {
		if err := check(); err != nil {
			return err
		}
	}
	mode, err := c.validateFormat()
	if err == nil && c.printsItself() {
		return c.ofMPIRun(mode)
	}
	return err
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
		return failure.Usage(example, "the command is empty")
	}
	if _, err := strconv.Atoi(c.Command[0]); err == nil {
		// In `-np 2` before mpirun, -n is our flag with the value p, and 2 becomes the command.
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
		return failure.Usage(fmt.Sprintf("want --fake=1 to --fake=%d", maxFake), "--fake=%d is too many for one machine", c.Fake)
	}
	if strings.HasPrefix(c.Origin["workers"], "flag") && c.Workers != c.Fake {
		return failure.Usage("omit --workers", "--fake=%d and --workers=%d conflict with each other", c.Fake, c.Workers)
	}
	_, err := ParseFaults(c.FakeFaults, c.Fakes()+c.Coming())
	return err
}

func (c Config) validateCluster() error {
	if len(c.FakeFaults) > 0 {
		return failure.Usage("add --fake=4", "--fake-fault needs --fake: faults are not injected in a cluster")
	}
	if c.Most() < 1 {
		return failure.Usage("--workers=4, or MUSTER_WORKERS=4 in the pod's environment; without a cluster, on this machine: "+c.onThisMachine(),
			"the number of workers is not set")
	}
	if c.Namespace != "" && len(validation.IsDNS1123Label(c.Namespace)) > 0 {
		return failure.Usage("kubectl get namespaces shows the names", "--namespace=%s is not the name of a namespace", c.Namespace)
	}
	if len(c.Pods) > 0 {
		return c.validatePods()
	}
	if c.Selector == "" && c.Job == "" {
		return failure.Usage("--job=NAME for pods labeled "+names.LabelJob+"=NAME,"+names.LabelRole+"="+names.RoleWorker+
			", --selector=app=x for others, or MUSTER_JOB=NAME in the pod's environment",
			"no pods are selected as workers")
	}
	if _, err := labels.Parse(c.WorkerSelector()); err != nil {
		return failure.Usage("a selector is written as label=value,label=value", "--selector=%q: %w", c.WorkerSelector(), err)
	}
	return nil
}

// onThisMachine returns a command line that runs the user's command with fake workers.
func (c Config) onThisMachine() string {
	words := []string{"agent run --fake=4"}
	if c.Framework != "" && c.Framework != framework.Auto {
		words = append(words, "--framework="+phrase.Quote(c.Framework)) // otherwise the command would run in the launcher alone
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
			return failure.Usage("a time is written as 90s, 10m or 1h", "--%s=%s must not be negative", t.flag, t.d)
		}
	}
	if c.CheckTime < time.Second {
		return failure.Usage("--preflight-timeout=2m is the default", "--preflight-timeout=%s: must be at least 1s", c.CheckTime)
	}
	if c.Preflight == "off" && c.Check+c.GroupCheck != "" {
		return failure.Usage("omit --preflight=off, or omit the command", "--preflight=off conflicts with a command to check workers")
	}
	if c.Lease < time.Second {
		return failure.Usage("--lease=15m is the default", "--lease=%s is too short: a dropped link needs time to reconnect", c.Lease)
	}
	return nil
}

func (c Config) validateWords() error {
	for _, w := range []struct {
		flag, value string
		known       []string
	}{
		{"--exit", string(c.Exit), []string{"", string(verdict.ExitStrict), string(verdict.ExitCommand)}},
		{"--color", c.Color, []string{"", names.ColorAuto, names.ColorAlways, names.ColorNever}},
		{"--preflight", c.Preflight, []string{"off", "warn", "fail"}},
		{"--log-format", c.LogFormat, []string{"auto", "console", "json"}},
		{"--log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
	} {
		if err := failure.OneOf(w.flag, w.value, w.known...); err != nil {
			return err
		}
	}
	return nil
}

package join

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// Config is the configuration of a member. The zero Rank is rank 0: see [Config.Identify].
type Config struct {
	Command []string

	Rank        int    `flag:"rank"`
	Workers     int    `flag:"workers"`     // members of the job
	Coordinator string `flag:"coordinator"` // host:port of rank 0
	Token       []byte // of the job; a job of one member needs none
	TokenFile   string `flag:"token-file"` // path of the token, unless it is in the environment
	Slots       int    `flag:"slots"`

	Framework string   `flag:"framework"`        // "" or auto: by the command, else plain
	Compat    string   `flag:"compat"`           // environment as another operator set it: kubeflow-v1
	Procs     int      `flag:"procs-per-worker"` // processes of each member
	Roles     string   `flag:"roles"`
	Success   string   `flag:"success"`
	Port      int      `flag:"port"` // first port of an attempt's block; 0: chosen
	Interface string   `flag:"interface"`
	Chdir     string   `flag:"chdir"`
	Env       []string `flag:"env"` // K=V for the processes

	Timeout time.Duration `flag:"timeout"` // of a barrier; 0: no limit
	Lease   time.Duration `flag:"lease"`   // how long rank 0 or a member may be unreachable
	Grace   time.Duration `flag:"grace"`   // between TERM and KILL

	MaxRestarts int    `flag:"max-restarts"`
	RestartOn   string `flag:"restart-on"`

	Job                             string `flag:"job"`
	Namespace, Host, PodName, PodIP string
	// meets is the name of the job whose members meet: Job, else the Indexed Job that created this
	// pod, or "" if not known.
	meets string
	// found returns what below found when Run began; nil: below looks. A file system may stop
	// answering later, and a member must hear orders and signals then, too.
	found          func() []string
	TerminationLog string
	Report         string `flag:"report"` // path of the report; "": none
}

// Defaults returns the default Config of a member.
func Defaults() Config {
	c := Config{TerminationLog: names.TerminationLog}
	settings.Defaults(&c, settings.OfJoin)
	return c
}

func usage(way, format string, words ...any) error {
	return failure.Usage(way, "join: "+format, words...)
}

// leastToken is the minimum length of a token in bytes. An observer of one proof can try guesses
// offline.
const leastToken = 16

// mostMembers limits the work of rank 0 and the size of the table.
const mostMembers = 10_000

const makeSecret = `kubectl create secret generic NAME --from-literal=token="$(head -c 32 /dev/urandom | base64)", and in the pod MUSTER_TOKEN from it by secretKeyRef, or --token-file on a mounted one` //nolint:gosec // G101: a hint, not a secret

// Validate checks a Config after Identify.
func (c Config) Validate() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return usage("agent join --workers=4 -- python train.py", "no command given")
	}
	if c.Workers > mostMembers {
		return usage(fmt.Sprintf("agent run --workers=%d --job=NAME in the pod of a launcher allows more", c.Workers), "--workers=%d is too large: agent join allows %d members", c.Workers, mostMembers)
	}
	for _, t := range []struct {
		flag string
		d    time.Duration
	}{{"timeout", c.Timeout}, {"lease", c.Lease}, {"grace", c.Grace}} {
		if t.d < 0 {
			return usage("write a time as 90s, 10m or 1h", "--%s=%s must not be negative", t.flag, t.d)
		}
	}
	if least := 2 * barrier.Quiet; c.Lease < least && c.Workers > 1 {
		return usage("--lease=1m is the default", "--lease=%s is too short: a dead connection is only noticed after %s", c.Lease, barrier.Quiet)
	}
	if c.Slots < 1 || c.Procs < 0 {
		return usage("--slots=8, --procs-per-worker=8", "--slots=%d, --procs-per-worker=%d: want at least one", c.Slots, c.Procs)
	}
	if c.Port != 0 && (c.Port < 1024 || c.Port > 1<<16-framework.PortBlock) {
		return usage(fmt.Sprintf("a run uses %d ports from --port up; without --port, it chooses free ones", framework.PortBlock),
			"--port=%d: want 1024 to %d", c.Port, 1<<16-framework.PortBlock)
	}
	for _, kv := range c.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return usage("--env OMP_NUM_THREADS=4 sets one variable", "--env %q is not NAME=VALUE", kv)
		}
	}
	if err := c.validateRestarts(); err != nil {
		return err
	}
	if _, err := c.framework(); err != nil {
		return err
	}
	if _, err := framework.ParseRoles(c.Roles, c.Workers); err != nil {
		return usage("--roles assigns roles to the members in order, as in chief=1,worker=2", "%w", err)
	}
	if err := c.validateMeeting(); err != nil {
		return err
	}
	if err := c.checkReport(); err != nil {
		return err
	}
	return c.rehearse()
}

func (c Config) validateRestarts() error {
	if c.MaxRestarts < 0 {
		return usage("--max-restarts=2 allows two restarts", "--max-restarts=%d: want 0 or more", c.MaxRestarts)
	}
	if _, err := retry.Parse(c.RestartOn); err != nil {
		return usage("want exit codes, lost, infra, oom or any, as in --restart-on=137,lost, or +1,-143 to change the default "+retry.Default, "--restart-on=%s: %w", c.RestartOn, err)
	}
	return nil
}

// validateMeeting checks what only a job with several members needs.
func (c Config) validateMeeting() error {
	if c.Workers == 1 {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Coordinator)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 1 || n > 1<<16-1 {
		return usage(fmt.Sprintf("--coordinator=job-0.svc:%d", names.JoinPort), "--coordinator=%s is not HOST:PORT", c.Coordinator)
	}
	if len(c.Token) == 0 {
		return usage(makeSecret, "missing token: %d members need one, so that nobody else can join", c.Workers)
	}
	if len(c.Token) < leastToken {
		return usage(makeSecret, "the token is too short: %d bytes, want at least %d", len(c.Token), leastToken)
	}
	return nil
}

// below returns the words of the launcher that the command starts, if the command is a script.
func (c Config) below() []string {
	if c.found != nil {
		return c.found()
	}
	return framework.Below(c.Command, framework.Scripts(c.Chdir))
}

// framework returns the framework by its name, else by the command.
func (c Config) framework() (framework.Framework, error) {
	name := c.Framework
	switch {
	case strings.HasPrefix(name, "plugin:"):
		return nil, usage("start the job with agent run --framework="+name+" from the pod of a launcher, whose image has agent-launcher-plugins", "--framework=%s: agent join cannot load plugins", name)
	case name == "" || name == framework.Auto:
		name = cmp.Or(framework.Detect(c.Command), framework.DetectBelow(c.below()), "plain")
	}
	if slices.Contains([]string{"mpi", "openmpi", "mpich", "intelmpi"}, name) {
		return nil, usage("agent run --workers="+strconv.Itoa(c.Workers)+" --job="+cmp.Or(c.Job, "NAME")+" -- "+strings.Join(c.Command, " ")+" in the pod of a launcher, agent worker in the others",
			"MPI needs a launcher, where mpirun runs: agent join has none")
	}
	f, err := framework.Chosen(name, c.Compat)
	switch {
	case err != nil && c.Compat != "":
		return nil, usage("--compat="+framework.KubeflowV1+" reproduces that operator's environment, for scripts that rely on it", "%w", err)
	case c.Compat != "" && c.Job == "":
		return nil, usage("--job=NAME sets it; without --compat, hosts are addresses", "--compat=%s needs --job: host names start with the name of the job", c.Compat)
	case err != nil:
		way := failure.Meant("--framework=", name, framework.Names(), "--framework=plain sets RANK, WORLD_SIZE, MASTER_ADDR and the like")
		return nil, usage(way, "%w", err)
	}
	return f, nil
}

// settings returns the settings that every member must share.
func (c Config) settings() []barrier.Setting {
	name := c.Framework
	if name == "" {
		name = framework.Auto
	}
	return []barrier.Setting{
		{Name: "framework", Value: name},
		{Name: "procs-per-worker", Value: strconv.Itoa(c.Procs)},
		{Name: "roles", Value: c.Roles},
		{Name: "success", Value: c.Success},
		{Name: "max-restarts", Value: strconv.Itoa(c.MaxRestarts)},
		{Name: "restart-on", Value: c.RestartOn},
		{Name: "compat", Value: c.Compat}, // last: a release that does not know it sends nothing, which is ""
	}
}

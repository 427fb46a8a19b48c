package launch

import (
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Plan is what a run tells its command: kept in the private directory, so that
// `agent env` and `agent hosts` beside the launcher say the same.
type Plan struct {
	Job      string          `json:"job,omitempty"`
	Hosts    []Host          `json:"hosts"`
	Own      *Host           `json:"own,omitempty"` // the launcher, where it takes ranks
	Hostfile string          `json:"hostfile"`
	Hydra    string          `json:"hydra"`
	Broker   string          `json:"broker"`
	Vars     []framework.Var `json:"vars"`
	// Processes are started on the workers, in place of a command in the launcher.
	Processes []Proc           `json:"processes,omitempty"`
	Argv      []string         `json:"argv,omitempty"` // in the launcher, where it is not the user's
	Shims     bool             `json:"-"`              // that command calls ssh, rsh or pdsh
	Any       bool             `json:"any,omitempty"`
	Elastic   bool             `json:"elastic,omitempty"` // the processes take in one more
	Files     []framework.File `json:"-"`
	Warnings  []string         `json:"warnings,omitempty"` // of the processes' variables
	Attempt   int              `json:"attempt,omitempty"`
}

// situation is all that a plan depends on.
type situation struct {
	cfg      config.Config
	ranked   []rendezvous.Worker
	welcomes map[string]wire.WelcomeRecord // by worker; empty where nobody has asked yet
	paths    paths
	dir      string // private directory
	broker   string // socket path
	agent    string // the agent's binary
	env      []string
	attempt  int    // number of the run of the command or the group, from 0
	port     int    // first of the attempt's
	store    string // worker that holds an elastic run's store; "": the first

	plugins   config.MakePlugin
	framework framework.Framework // nil: see choose
}

// makePlan decides hosts and environment.
func makePlan(s situation) (Plan, error) {
	ranked, err := s.paths.given.choose(s.ranked)
	if err != nil {
		return Plan{}, err
	}
	s.ranked = ranked
	hosts := hostsOf(s.ranked, s.cfg.Slots)
	temporary := rundir.Temp
	if s.cfg.IsFake() { // runs of one machine: of two mpiruns, the one that ends takes the other's directory away
		temporary = rundir.OwnTemp
	}
	temp, err := temporary(s.dir)
	if err != nil {
		return Plan{}, err
	}
	cluster, err := clusterOf(s, hosts, temp)
	if err != nil {
		return Plan{}, err
	}
	f := s.framework
	if f == nil {
		if f, err = config.Choose(s.cfg, s.plugins); err != nil {
			return Plan{}, err
		}
	}
	launch, err := f.Prepare(cluster)
	if err != nil {
		return Plan{}, failure.Usage("docs/frameworks.md says what each framework needs", "%w", err)
	}
	if launch, err = framework.Decide(launch, s.cfg.Success); err != nil {
		return Plan{}, failure.Usage("--success=auto leaves it to the framework", "%w", err)
	}
	if err := ownRanks(s.cfg, launch); err != nil {
		return Plan{}, err
	}
	plan := Plan{Job: s.cfg.Job, Hosts: hosts, Own: ownHost(s.cfg), Hostfile: s.paths.Hostfile, Hydra: s.paths.Hydra, Broker: s.broker,
		Argv: launch.Argv, Shims: launch.Shims, Any: launch.Any, Elastic: launch.Elastic, Files: launch.Files, Warnings: launch.Warnings, Attempt: s.attempt}
	if len(launch.Processes) > 0 {
		plan.Vars = byHand(s, cluster)
		return plan.withProcesses(s, launch.Processes)
	}
	if err := s.cfg.HereOnly(); err != nil {
		return Plan{}, err
	}
	wordAgent(launch.Env, s.agent)
	plan.Vars = append(launch.Env, brokerVar(s.broker), attemptVar(s.attempt))
	return plan, nil
}

// byHand is what a command needs that somebody types beside a group.
func byHand(s situation, c framework.Cluster) []framework.Var {
	vars := []framework.Var{brokerVar(s.broker)}
	if launch, err := (framework.MPI{}).Prepare(c); err == nil { // else agent rsh works all the same
		wordAgent(launch.Env, s.agent)
		vars = append(launch.Env, vars...)
	}
	return vars
}

func brokerVar(path string) framework.Var {
	return framework.Var{Name: names.EnvBroker, Value: path, Why: "the launcher's socket, for agent rsh"}
}

func attemptVar(attempt int) framework.Var {
	return framework.Var{Name: names.EnvAttempt, Value: strconv.Itoa(attempt), Why: "attempts before this one"}
}

// wordAgent gives Open MPI "AGENT rsh" in place of the link in our private
// directory: its daemons look the first word up on every worker, where that
// directory is not and the agent is. Hydra takes no words, and looks nothing up.
func wordAgent(vars []framework.Var, agent string) {
	for i, v := range vars {
		if v.Name == "OMPI_MCA_plm_rsh_agent" || v.Name == "PRTE_MCA_plm_ssh_agent" {
			vars[i].Value = agent + " rsh"
		}
	}
}

// homeIfNone is a HOME for who has none.
func homeIfNone(dir string) string {
	if os.Getenv("HOME") == "" {
		return dir
	}
	return ""
}

// hasPasswd reports whether uid has an entry in /etc/passwd, where mpirun looks.
func hasPasswd(uid int) bool {
	_, err := user.LookupId(strconv.Itoa(uid))
	return err == nil
}

// merge puts the plan's variables into the user's environment; warnings name
// what the user has set otherwise, and keeps.
func (p Plan) merge(env []string) (merged, warnings []string) {
	set, warnings := p.settle(env)
	return withVars(env, set), warnings
}

// settle leaves the user's variables out. An outer launcher's broker is not the
// user's choice.
func (p Plan) settle(env []string) (set []framework.Var, warnings []string) {
	var user []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, names.EnvBroker+"=") {
			user = append(user, kv)
		}
	}
	return framework.Merge(user, p.Vars)
}

// withVars sets variables in an environment, each once: of two, getenv(3) takes
// the first.
func withVars(env []string, vars []framework.Var) []string {
	ours := map[string]bool{}
	for _, v := range vars {
		ours[v.Name] = true
	}
	merged := make([]string, 0, len(env)+len(vars))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !ours[name] {
			merged = append(merged, kv)
		}
	}
	for _, v := range vars {
		merged = append(merged, v.Name+"="+v.Value)
	}
	return merged
}

// ownInterface names the network interface whose address workers can reach:
// lo for fake ones, else that of our pod's address, else the first that is not
// loopback. Hydra then gives a numeric address to its proxies, which need no
// DNS for it. "" when there is none.
func ownInterface(cfg config.Config) string {
	if cfg.IsFake() {
		return "lo"
	}
	list, err := net.Interfaces()
	if err != nil {
		return ""
	}
	first := ""
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if ok && cfg.PodIP != "" && n.IP.Equal(net.ParseIP(cfg.PodIP)) {
				return i.Name
			}
			if ok && first == "" && n.IP.IsGlobalUnicast() {
				first = i.Name
			}
		}
	}
	return first
}

// withAssignments adds K=V entries to an environment, in the place of what is
// there under their names.
func withAssignments(env, list []string) []string {
	var vars []framework.Var
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		vars = append(vars, framework.Var{Name: name, Value: value})
	}
	return withVars(env, vars)
}

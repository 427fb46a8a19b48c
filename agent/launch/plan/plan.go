package plan

import (
	"strconv"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/exec/names"
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
	Processes []Process        `json:"processes,omitempty"`
	Argv      []string         `json:"argv,omitempty"` // in the launcher, where it is not the user's
	Shims     bool             `json:"-"`              // that command calls ssh, rsh or pdsh
	Any       bool             `json:"any,omitempty"`
	Elastic   bool             `json:"elastic,omitempty"` // the processes take in one more
	Files     []framework.File `json:"-"`
	Warnings  []string         `json:"warnings,omitempty"` // of the processes' variables
	Attempt   int              `json:"attempt,omitempty"`
}

// Situation is all that a plan depends on.
type Situation struct {
	Config   config.Config
	Ranked   []rendezvous.Worker
	Welcomes map[string]wire.WelcomeRecord // by worker; empty where nobody has asked yet
	Files    Files
	Machine  Machine
	Dir      string // private directory
	Broker   string // socket path
	Agent    string // the agent's binary
	Env      []string
	Attempt  int    // number of the run of the command or the group, from 0
	Port     int    // first of the attempt's
	Store    string // worker that holds an elastic run's store; "": the first

	Plugins config.MakePlugin
}

// Make decides hosts and environment.
func Make(s Situation) (Plan, error) {
	hosts := hostsOf(s.Ranked, s.Config.Slots)
	cluster, err := clusterOf(s, hosts)
	if err != nil {
		return Plan{}, err
	}
	f, err := config.Choose(s.Config, s.Plugins)
	if err != nil {
		return Plan{}, err
	}
	launch, err := f.Prepare(cluster)
	if err != nil {
		return Plan{}, failure.Usage("docs/frameworks.md says what each framework needs", "%w", err)
	}
	if launch, err = framework.Decide(launch, s.Config.Success); err != nil {
		return Plan{}, failure.Usage("--success=auto leaves it to the framework", "%w", err)
	}
	if err := ownRanks(s.Config, launch); err != nil {
		return Plan{}, err
	}
	plan := Plan{Job: s.Config.Job, Hosts: hosts, Own: s.Machine.Own, Hostfile: s.Files.Hostfile, Hydra: s.Files.Hydra, Broker: s.Broker,
		Argv: launch.Argv, Shims: launch.Shims, Any: launch.Any, Elastic: launch.Elastic, Files: launch.Files, Warnings: launch.Warnings, Attempt: s.Attempt}
	if len(launch.Processes) > 0 {
		plan.Vars = byHand(s, cluster)
		return plan.withProcesses(s, launch.Processes)
	}
	if err := s.Config.HereOnly(); err != nil {
		return Plan{}, err
	}
	wordAgent(launch.Env, s.Agent)
	plan.Vars = append(launch.Env, brokerVar(s.Broker), attemptVar(s.Attempt))
	return plan, nil
}

// byHand is what a command needs that somebody types beside a group.
func byHand(s Situation, c framework.Cluster) []framework.Var {
	vars := []framework.Var{brokerVar(s.Broker)}
	if launch, err := (framework.MPI{}).Prepare(c); err == nil { // else agent rsh works all the same
		wordAgent(launch.Env, s.Agent)
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

// Files are the paths of the files that a launcher makes for its command.
type Files struct {
	Hostfile string // Open MPI's dialect
	Hydra    string // Hydra's
	Rsh      string // the agent under a name that makes it the rsh agent, for programs that take no arguments
	Discover string // a script that lists the hosts, for elastic horovodrun
}

// Machine is what a plan depends on of the machine or pod that the launcher is on.
type Machine struct {
	Root       bool   // the launcher runs as root
	NoPasswd   bool   // its user has no entry in /etc/passwd
	Home       string // a directory for HOME; "": the user has one
	Temp       string // the directory for temporary files
	Interface  string // the network interface that workers can reach; "": there is none
	Processors int    // how many there are
	CPUs       string // those that the launcher may use, as workers tell theirs; "": not known
	Own        *Host  // the launcher as a host of its own mpirun; nil: it takes no ranks
}

package plan

import (
	"strconv"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/tracecontext"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Plan is what a run gives to its command. A copy in the private directory lets `agent env` and
// `agent hosts` beside the launcher report the same.
type Plan struct {
	Job      string          `json:"job,omitempty"`
	Hosts    []Host          `json:"hosts"`
	Own      *Host           `json:"own,omitempty"` // the launcher, if it takes ranks
	Hostfile string          `json:"hostfile"`
	Hydra    string          `json:"hydra"`
	Broker   string          `json:"broker"`
	Vars     []framework.Var `json:"vars"`
	// Processes are started on the workers instead of a command in the launcher.
	Processes []Process        `json:"processes,omitempty"`
	Argv      []string         `json:"argv,omitempty"` // command in the launcher, if it is not the user's
	Shims     bool             `json:"-"`              // Argv calls ssh, rsh or pdsh
	Any       bool             `json:"any,omitempty"`
	Elastic   bool             `json:"elastic,omitempty"` // the processes accept new peers
	Files     []framework.File `json:"-"`
	Warnings  []string         `json:"warnings,omitempty"` // about the processes' variables
	Attempt   int              `json:"attempt,omitempty"`
}

// Situation holds everything that a plan depends on.
type Situation struct {
	Config   config.Config
	Ranked   []rendezvous.Worker
	Welcomes map[string]wire.WelcomeRecord // by worker; empty if no worker has been asked yet
	Files    Files
	Machine  Machine
	Dir      string // private directory
	Broker   string // socket path
	Agent    string // the agent's binary
	Env      []string
	Attempt  int                  // number of the attempt, from 0
	Port     int                  // first port of the attempt
	Store    string               // worker with the rendezvous store of an elastic run; "": the first
	First    int                  // workers at the start of the attempt of an elastic run; 0: those of Ranked
	Trace    tracecontext.Context // of the attempt; not valid: none

	Plugins config.MakePlugin
}

// Make decides hosts, environment and processes. Errors are *failure.Failure.
func Make(s Situation) (Plan, error) {
	hosts := hostsOf(s.Ranked, s.Config.Slots)
	cluster, err := clusterOf(s, hosts)
	if err != nil {
		return Plan{}, err
	}
	for i, w := range s.Ranked {
		hosts[i].Domain, hosts[i].Interface = w.Domain(s.Config.DomainKeys()), cluster.Workers[i].Interface
		hosts[i].Why = whyInterface(s, hosts[i])
	}
	f, err := config.Choose(s.Config, s.Plugins)
	if err != nil {
		return Plan{}, err
	}
	launch, err := f.Prepare(cluster)
	if err == nil {
		err = framework.Startable(launch)
	}
	if err != nil {
		return Plan{}, failure.Usage("docs/guides/frameworks.md lists what each framework needs", "%w", err)
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
	plan.Vars = append(append(launch.Env, debugVars(s.Config)...), brokerVar(s.Broker), attemptVar(s.Attempt))
	plan.Vars = append(plan.Vars, traceVars(s)...)
	return plan, nil
}

// byHand returns the variables for a command that a user types beside a group.
func byHand(s Situation, c framework.Cluster) []framework.Var {
	vars := []framework.Var{brokerVar(s.Broker)}
	if launch, err := (framework.MPI{}).Prepare(c); err == nil { // agent rsh works even without these variables
		wordAgent(launch.Env, s.Agent)
		vars = append(launch.Env, vars...)
	}
	return append(vars, traceVars(s)...)
}

func brokerVar(path string) framework.Var {
	return framework.Var{Name: names.EnvBroker, Value: path, Why: "the launcher's socket, for agent rsh"}
}

// debugVars makes NCCL print the network that it uses, if the run depends on that.
func debugVars(c config.Config) []framework.Var {
	if !c.RequireRDMA {
		return nil
	}
	const why = "NCCL prints the network that it uses, for --require-rdma"
	return []framework.Var{{Name: "NCCL_DEBUG", Value: "INFO", Why: why}}
}

func attemptVar(attempt int) framework.Var {
	return framework.Var{Name: names.EnvAttempt, Value: strconv.Itoa(attempt), Why: "attempts before this one"}
}

// wordAgent gives Open MPI "AGENT rsh" instead of the link in our private directory. Its daemons
// look up the first word on every worker, which has the agent but not that directory. Hydra takes
// no words, and looks nothing up.
func wordAgent(vars []framework.Var, agent string) {
	for i, v := range vars {
		if v.Name == "OMPI_MCA_plm_rsh_agent" || v.Name == "PRTE_MCA_plm_ssh_agent" {
			vars[i].Value = agent + " rsh"
		}
	}
}

// Files holds the paths of the files that a launcher writes for its command.
type Files struct {
	Hostfile string // in Open MPI's format
	Hydra    string // in Hydra's format
	Rsh      string // the agent under the name of the rsh agent, for programs that take no arguments
	Discover string // a script that lists the hosts, for elastic horovodrun
}

// Machine holds what a plan depends on in the launcher's machine or pod.
type Machine struct {
	Root       bool   // the launcher runs as root
	NoShell    bool   // its user has no shell that Open MPI knows in /etc/passwd
	Home       string // a directory for HOME; "": the user has one
	Temp       string // the directory for temporary files
	Interface  string // the network interface that workers can reach; "": none
	Fake       bool   // fake workers run on it too
	Processors int    // number of processors that fake workers share; 0: there are none
	CPUs       string // the processors that the launcher may use, in the format of workers; "": unknown
	Own        *Host  // the launcher as a host of its own mpirun; nil: it takes no ranks
}

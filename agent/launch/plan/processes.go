package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/rendezvous"
)

// Process is one process on a worker in a plan.
type Process struct {
	Label  string           `json:"label"` // "rank 3", "ps 0"
	Worker int              `json:"worker"`
	Rank   int              `json:"rank"` // -1: none
	Role   string           `json:"role,omitempty"`
	Vars   []*framework.Var `json:"-"` // variables that Muster sets, without those of the user; shared
	Argv   []string         `json:"argv"`
	After  string           `json:"after,omitempty"`
	Part   framework.Part   `json:"part,omitempty"`

	ours []*framework.Var // all of Muster's variables, before [Plan.SettleProcesses]; shared
}

// withProcesses adds the processes to a plan, each with its own environment.
func (p Plan) withProcesses(s Situation, list []framework.Process) (Plan, error) {
	known := shared{}
	p.Processes = make([]Process, 0, len(list))
	for _, one := range list {
		if i := s.Ranked[one.Worker].Index; p.Elastic && i >= 0 {
			one.Rank = i // its position among the current workers changes
		}
		proc := Process{Label: labelOf(one), Worker: one.Worker, Rank: one.Rank, Role: one.Role, Argv: one.Argv, After: one.After, Part: one.Part,
			ours: known.all(one.Env, debugVars(s.Config), []framework.Var{attemptVar(s.Attempt)}, traceVars(s))}
		p.Processes = append(p.Processes, proc)
	}
	if err := s.Config.RanksShown(p.Ranks()); err != nil {
		return Plan{}, err
	}
	p.Warnings = append(p.Warnings, p.SettleProcesses(s.Config, s.UserEnv(), nil)...)
	return p, nil
}

func labelOf(p framework.Process) string {
	if p.Rank >= 0 {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return fmt.Sprintf("%s %d", p.Role, p.Index)
}

// Ranks returns the number of ranks.
func (p Plan) Ranks() int {
	n := 0
	for _, one := range p.Processes {
		n = max(n, one.Rank+1)
	}
	return n
}

// SettleProcesses sets the variables of each process without those that the user has set on its
// worker, and inserts the directories of files. warnings name each variable of the user once, not
// once per rank.
func (p Plan) SettleProcesses(cfg config.Config, user [][]string, dirs []string) (warnings []string) {
	warned, known := map[string]bool{}, shared{}
	for i := range p.Processes {
		one := &p.Processes[i]
		one.Vars = make([]*framework.Var, 0, len(one.ours))
		theirs := slices.Concat(user[one.Worker], cfg.Env)
		for _, ours := range one.ours {
			v := *ours
			if dirs != nil {
				v.Value = strings.ReplaceAll(v.Value, framework.FilesDir, dirs[one.Worker])
			}
			set, kept := framework.Merge(theirs, []framework.Var{v})
			for _, v := range set {
				if !equal(v, *ours) {
					ours = known.of(v)
				}
				one.Vars = append(one.Vars, ours)
			}
			for _, sentence := range kept {
				if !warned[v.Name] {
					warned[v.Name] = true
					warnings = append(warnings, sentence)
				}
			}
		}
	}
	return warnings
}

// Assigned holds the assignments of variables that processes share, so that each is in memory once.
type Assigned map[*framework.Var]string

// Environment returns what a process's session adds to its worker's environment. It takes shared
// assignments from known and adds new ones to it.
func (p Process) Environment(cfg config.Config, known Assigned) []string {
	env := append(make([]string, 0, len(cfg.Env)+len(p.Vars)), cfg.Env...)
	for _, v := range p.Vars {
		if known[v] == "" {
			known[v] = v.Name + "=" + v.Value
		}
		env = append(env, known[v])
	}
	return env
}

// UserEnv returns what the user has set on each worker, as far as it is known: the pod's spec, and
// what the worker has reported, including its image's variables.
func (s Situation) UserEnv() [][]string {
	all := make([][]string, 0, len(s.Ranked))
	for _, w := range s.Ranked {
		all = append(all, s.userEnvOf(w))
	}
	return all
}

// userEnvOf returns the variables that the user has set on one worker.
func (s Situation) userEnvOf(w rendezvous.Worker) []string {
	env := slices.Clone(w.Env)
	told := s.Welcomes[w.Name].Env
	for _, name := range slices.Sorted(maps.Keys(told)) {
		env = append(env, name+"="+told[name])
	}
	return env
}

// UserEnvOn returns the variables that the user has set on the worker with this name, which may
// have joined. It returns nil if there is no such worker.
func (s Situation) UserEnvOn(name string) []string {
	i := slices.IndexFunc(s.Ranked, func(w rendezvous.Worker) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return s.userEnvOf(s.Ranked[i])
}

// Extended returns the names of the search paths that processes extend.
func (p Plan) Extended() []string {
	var names []string
	for _, one := range p.Processes {
		for _, v := range one.ours {
			if v.Extend != "" && !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// Starter returns the name of the launcher that each process runs, which starts the ranks of its
// worker. It returns "" if the processes are ranks.
func Starter(processes []Process) string {
	for _, p := range processes {
		has := func(name string) bool {
			return slices.ContainsFunc(p.ours, func(v *framework.Var) bool { return v.Name == name })
		}
		if has("PET_NPROC_PER_NODE") && !has("RANK") { // torchrun sets RANK itself
			return "torchrun"
		}
	}
	return ""
}

// Store returns the name of the worker that holds torchrun's store in an elastic group, or "" if
// there is none. Without the store, torchrun on the other workers ends its ranks.
func Store(p Plan) string {
	if !p.Elastic || Starter(p.Processes) == "" || len(p.Hosts) == 0 {
		return ""
	}
	return p.Hosts[0].Name
}

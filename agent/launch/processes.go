package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/rendezvous"
)

// Proc is one process on a worker, as the plan has it.
type Proc struct {
	Label  string          `json:"label"` // "rank 3", "ps 0"
	Worker int             `json:"worker"`
	Rank   int             `json:"rank"` // -1: none
	Role   string          `json:"role,omitempty"`
	Vars   []framework.Var `json:"vars"` // what we set, the user's left out
	Argv   []string        `json:"argv"`
	After  string          `json:"after,omitempty"`
	Part   framework.Part  `json:"part,omitempty"`

	ours []framework.Var // before Merge
}

// withProcesses adds the processes to a plan, each with its own environment.
func (p Plan) withProcesses(s situation, list []framework.Process) (Plan, error) {
	for _, one := range list {
		if i := s.ranked[one.Worker].Index; p.Elastic && i >= 0 {
			one.Rank = i // its place among those that are there changes
		}
		proc := Proc{Label: labelOf(one), Worker: one.Worker, Rank: one.Rank, Role: one.Role, Argv: one.Argv, After: one.After, Part: one.Part,
			ours: append(one.Env, attemptVar(s.attempt))}
		p.Processes = append(p.Processes, proc)
	}
	if err := s.cfg.RanksShown(p.ranks()); err != nil && !s.cfg.Elastic() {
		return Plan{}, err
	}
	p.Warnings = append(p.Warnings, p.settleProcesses(s.cfg, s.userEnv(), nil)...)
	return p, nil
}

func labelOf(p framework.Process) string {
	if p.Rank >= 0 {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return fmt.Sprintf("%s %d", p.Role, p.Index)
}

// ranks is how many processes have a rank.
func (p Plan) ranks() int {
	n := 0
	for _, one := range p.Processes {
		n = max(n, one.Rank+1)
	}
	return n
}

// settleProcesses decides each process's variables over what the user has set on
// its worker, and puts the directory of files in their place. Warnings name
// each variable of the user's once, not per rank.
func (p Plan) settleProcesses(cfg config.Config, user [][]string, dirs []string) (warnings []string) {
	warned := map[string]bool{}
	for i := range p.Processes {
		one := &p.Processes[i]
		one.Vars = nil
		theirs := slices.Concat(user[one.Worker], cfg.Env)
		for _, v := range one.ours {
			if dirs != nil {
				v.Value = strings.ReplaceAll(v.Value, framework.FilesDir, dirs[one.Worker])
			}
			set, kept := framework.Merge(theirs, []framework.Var{v})
			one.Vars = append(one.Vars, set...)
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

// environment is what a process's session adds to its worker's own.
func (p Proc) environment(cfg config.Config) []string {
	return p.environmentOf(cfg, assigned{})
}

// assigned has the assignments of processes that are alike: the addresses of a
// thousand workers, in each one's environment, are kept once.
type assigned map[[2]string]string

func (p Proc) environmentOf(cfg config.Config, known assigned) []string {
	env := append(make([]string, 0, len(cfg.Env)+len(p.Vars)), cfg.Env...)
	for _, v := range p.Vars {
		key := [2]string{v.Name, v.Value}
		if known[key] == "" {
			known[key] = v.Name + "=" + v.Value
		}
		env = append(env, known[key])
	}
	return env
}

// userEnv is what the user has set on each worker, as far as it is known: what
// stands in the pod's spec and what the worker has told, its image's among it; for
// fake workers the launcher's environment, which they have.
func (s situation) userEnv() [][]string {
	all := make([][]string, 0, len(s.ranked))
	for _, w := range s.ranked {
		all = append(all, s.userEnvOf(w))
	}
	return all
}

// userEnvOf is that of one worker.
func (s situation) userEnvOf(w rendezvous.Worker) []string {
	if s.cfg.IsFake() {
		return withoutMuster(s.env)
	}
	env := slices.Clone(w.Env)
	told := s.welcomes[w.Name].Env
	for _, name := range slices.Sorted(maps.Keys(told)) {
		env = append(env, name+"="+told[name])
	}
	return env
}

// userEnvOn is that of the worker with that name, which may have joined; nil for none.
func (s situation) userEnvOn(name string) []string {
	i := slices.IndexFunc(s.ranked, func(w rendezvous.Worker) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return s.userEnvOf(s.ranked[i])
}

// withoutMuster leaves our own variables behind: those of an outer launcher or
// of the user's shell are not the worker's.
func withoutMuster(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "MUSTER_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

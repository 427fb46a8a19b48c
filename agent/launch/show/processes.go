package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
)

// printProcesses prints the processes that a run would start. Each is one line for a shell on its
// worker.
func printProcesses(w io.Writer, cfg config.Config, planned plan.Plan) {
	for i, p := range planned.Processes {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "# %s\n", about(p, planned))
		words := []string{"env"}
		if cfg.Chdir != "" {
			words = append(words, "-C", phrase.Quote(cfg.Chdir))
		}
		for _, kv := range p.Environment(cfg, plan.Assigned{}) {
			name, value, _ := strings.Cut(kv, "=")
			if strings.Contains(value, framework.FilesDir) {
				continue // a run writes the files into a directory of each worker; here there is none
			}
			words = append(words, name+"="+shownValue(framework.Var{Name: name, Value: value}))
		}
		fmt.Fprintln(w, strings.Join(append(words, phrase.QuoteAll(p.Argv)), " "))
	}
}

// about says which process this is, where it runs, and what its end means.
func about(p plan.Process, planned plan.Plan) string {
	text := p.Label + " on " + planned.Hosts[p.Worker].Name
	if p.Role != "" && !strings.HasPrefix(p.Label, p.Role) {
		text += ", " + p.Role
	}
	switch p.Part {
	case framework.Decides:
		text += ", decides"
	case framework.Serves:
		text += ", serves: stopped when the job is decided"
	}
	if p.After != "" {
		text += ", when " + p.After + " answers"
	}
	return text
}

// explainProcesses prints each variable of the processes and the source of its value. It lists a
// variable by process if the values differ.
func explainProcesses(w io.Writer, planned plan.Plan) {
	for _, p := range planned.Processes {
		fmt.Fprintf(w, "# %s\n", about(p, planned))
	}
	for _, name := range varNames(planned.Processes) {
		var lines []string
		same, why := true, ""
		for _, p := range planned.Processes {
			line := "not set, or the user's"
			for _, v := range p.Vars {
				if v.Name == name {
					line, why = name+"="+shownValue(*v), v.Why
				}
			}
			same = same && (lines == nil || lines[0] == line)
			lines = append(lines, line)
		}
		if same {
			fmt.Fprintf(w, "%s\n    %s\n", lines[0], why)
			continue
		}
		fmt.Fprintf(w, "%s\n    %s\n", name, why)
		for i, line := range lines {
			fmt.Fprintf(w, "    %s: %s\n", planned.Processes[i].Label, line)
		}
	}
}

// varNames returns the names of all variables, in order of first occurrence.
func varNames(list []plan.Process) []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range list {
		for _, v := range p.Vars {
			if !seen[v.Name] {
				seen[v.Name] = true
				names = append(names, v.Name)
			}
		}
	}
	return slices.Clip(names)
}

package framework

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Decide applies the user's rule of success to a launch: "auto" or "" leaves the
// framework's own; "all": every process that does not serve; "any": the first
// that ends well; "ROLE": all of that role; "ROLE:INDEX": that one. A role that
// serves may be named: it then decides. Errors: a rule other than auto for a
// command in the launcher, whose own end decides; a role or number that the
// launch does not have.
func Decide(launch Launch, rule string) (Launch, error) {
	if rule == "" || rule == Auto {
		return launch, nil
	}
	if len(launch.Processes) == 0 {
		return Launch{}, fmt.Errorf("--success=%s: the command runs in the launcher, and its own end decides", rule)
	}
	launch.Processes = slices.Clone(launch.Processes)
	launch.Any = rule == "any"
	for i, p := range launch.Processes {
		if p.Part == Decides {
			launch.Processes[i].Part = Works
		}
	}
	if rule == "all" || rule == "any" {
		return launch, nil
	}
	role, number, one := strings.Cut(rule, ":")
	index, err := strconv.Atoi(number)
	if one && (err != nil || index < 0) {
		return Launch{}, fmt.Errorf("--success=%s: %q is no number of a process, want ROLE:INDEX with an index from 0", rule, number)
	}
	found := false
	for i, p := range launch.Processes {
		if p.Role == strings.ToLower(role) && (!one || p.Index == index) {
			launch.Processes[i].Part, found = Decides, true
		}
	}
	if !found {
		return Launch{}, fmt.Errorf("--success=%s: no such process, there are %s; or auto, all, any", rule, crew(launch.Processes))
	}
	return launch, nil
}

// crew lists the roles with their counts, in the order of the processes.
func crew(list []Process) string {
	var names []string
	count := map[string]int{}
	for _, p := range list {
		if count[p.Role]++; count[p.Role] == 1 {
			names = append(names, p.Role)
		}
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%s:0 to %s:%d", name, name, count[name]-1)
		} else {
			names[i] = name + ":0"
		}
	}
	return strings.Join(names, ", ")
}

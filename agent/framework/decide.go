package framework

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Decide applies the user's success rule to a launch. "auto" or "" keeps the framework's rule.
// "all" is every process that does not serve, "any" is the first that succeeds, "ROLE" is all
// processes of the role, and "ROLE:INDEX" is one process. A named role decides even if it normally
// serves.
//
// If the command runs in the launcher, its exit code decides, so a rule other than auto is an
// error. So is a role or index that the launch does not have.
func Decide(launch Launch, rule string) (Launch, error) {
	if rule == "" || rule == Auto {
		return launch, nil
	}
	if len(launch.Processes) == 0 {
		return Launch{}, fmt.Errorf("--success=%s: the command runs in the launcher, and its own exit code decides", rule)
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
		return Launch{}, fmt.Errorf("--success=%s: %q is not an index, want ROLE:INDEX with an index from 0", rule, number)
	}
	found := false
	for i, p := range launch.Processes {
		if p.Role == strings.ToLower(role) && (!one || p.Index == index) {
			launch.Processes[i].Part, found = Decides, true
		}
	}
	if !found {
		return Launch{}, fmt.Errorf("--success=%s: no such process, want %s; or auto, all, any", rule, crew(launch.Processes))
	}
	return launch, nil
}

// crew lists the roles with their process counts, in the order of the processes.
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

package framework

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Role is the role of one worker in the framework.
type Role struct {
	Name  string
	Index int // among the workers of that role, from 0
}

// ParseRoles reads "chief=1,ps=1,worker=2" for a job with that many workers: the first worker is
// the chief, the next is the ps, and so on in the order of the text. The framework checks the
// names. For an empty text it returns nil: no roles. It returns an error for an entry that is not
// NAME=COUNT, for a role that is named twice, and for a sum other than workers.
func ParseRoles(text string, workers int) ([]Role, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var roles []Role
	seen := map[string]bool{}
	total := 0
	for _, entry := range strings.Split(text, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(entry), "=")
		name = strings.ToLower(strings.TrimSpace(name))
		count, err := strconv.Atoi(strings.TrimSpace(number))
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("--roles: %q is not NAME=COUNT, as in chief=1,worker=2", entry)
		case err != nil || count < 1:
			return nil, fmt.Errorf("--roles: %s has the count %q, want a number from 1", name, number)
		case strings.ContainsAny(name, ":= \t\""):
			return nil, fmt.Errorf("--roles: %q is not a valid role name", name)
		case seen[name]:
			return nil, fmt.Errorf("--roles: %s is named twice", name)
		}
		seen[name] = true
		if total += count; total > workers {
			continue // the error below reports the whole sum
		}
		for i := range count {
			roles = append(roles, Role{Name: name, Index: i})
		}
	}
	if total != workers {
		return nil, fmt.Errorf("--roles=%s is for %d workers, but the job has %d", text, total, workers)
	}
	return roles, nil
}

// rolesAre returns an error unless every worker has one of the framework's roles, or none has a
// role. Roles that stand alone must not occur twice.
func (c Cluster) rolesAre(framework string, known ...string) error {
	with, count := 0, map[string]int{}
	for _, w := range c.Workers {
		if w.Role == "" {
			continue
		}
		with++
		count[w.Role]++
		if !slices.Contains(known, w.Role) {
			return fmt.Errorf("worker %q has the role %s, which %s does not have: want one of %s", w.Name, w.Role, framework, strings.Join(known, ", "))
		}
	}
	if with != 0 && with != len(c.Workers) {
		return fmt.Errorf("%d of %d workers have no role: give one to each", len(c.Workers)-with, len(c.Workers))
	}
	for _, single := range []string{"chief", "master", "evaluator", "scheduler"} {
		if count[single] > 1 {
			return fmt.Errorf("%d workers have the role %s, want 1 at most", count[single], single)
		}
	}
	if count["chief"]+count["master"] > 1 {
		return fmt.Errorf("workers have the roles chief and master, want only one of these")
	}
	return nil
}

// hasRole reports whether any worker has the role.
func (c Cluster) hasRole(role string) bool {
	return slices.ContainsFunc(c.Workers, func(n Node) bool { return n.Role == role })
}

// byRole names the process by the role of its worker, if there is one: a master is number 0 of its
// role, and the workers are numbered without it.
func (r *rank) byRole() {
	if r.node.Role != "" {
		r.Role, r.Index = r.node.Role, r.node.RoleIndex*r.local+r.Local
	}
}

// masterDecides lets the processes of role master decide, if there are any: the others may still be
// busy, or wait forever, when it has ended.
func masterDecides(list []Process) {
	for i := range list {
		if list[i].Role == "master" {
			list[i].Part = Decides
		}
	}
}

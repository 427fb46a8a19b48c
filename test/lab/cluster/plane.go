package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// planeOf is what plane prints: where the programs of a control plane are, and the flags that this version of
// Kubernetes needs in addition.
type planeOf struct {
	Programs map[string]string   `json:"programs"`
	Flags    map[string][]string `json:"flags"`
}

// planePrograms returns the programs of a control plane without nodes.
func planePrograms() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
}

// plane builds the programs of a control plane that are missing, and prints where they are. It needs no root.
func (c cluster) plane(args []string, out io.Writer) error {
	if len(args) > 0 {
		return usageError{"plane: unknown argument: " + strings.Join(args, " ")}
	}
	for _, m := range c.modules() {
		m = m.only(planePrograms())
		if m.complete() {
			continue
		}
		unlock, err := lock(c.base, c.say)
		if err != nil {
			return err
		}
		err = c.buildModule(m)
		unlock()
		if err != nil {
			return err
		}
	}
	found := planeOf{Programs: map[string]string{}, Flags: map[string][]string{}}
	for _, name := range planePrograms() {
		found.Programs[name], found.Flags[name] = c.program(name), c.release.flags[name]
	}
	return json.NewEncoder(out).Encode(found)
}

// only returns the module with those of its programs that names has.
func (m module) only(names []string) module {
	var programs, packages []string
	for i, name := range m.programs {
		if slices.Contains(names, name) {
			programs, packages = append(programs, name), append(packages, m.packages[i])
		}
	}
	m.programs, m.packages = programs, packages
	return m
}

// complete reports whether all programs exist.
func (m module) complete() bool {
	return !slices.ContainsFunc(m.programs, func(name string) bool { return !exists(filepath.Join(m.dir, name)) })
}

// buildModule builds the programs of a module, and replaces existing ones.
func (c cluster) buildModule(m module) error {
	return c.say.step(fmt.Sprintf("building %s (minutes the first time)", m.what), func() error { return goBuild(m) })
}

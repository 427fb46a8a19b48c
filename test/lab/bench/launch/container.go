//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// container is one of the nodes' on this machine, by its first process.
type container struct {
	pid     int
	env     []string
	cgroups []string // directories, of each hierarchy
	usage   string   // file with the CPU time
}

// containers finds the containers of pods by the host name that the kubelet gave them.
func containers(pods []string) (map[string]container, error) {
	wanted := map[string]bool{}
	for _, pod := range pods {
		wanted[pod] = true
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	found := map[string]container{}
	for _, dir := range dirs {
		status, err := os.ReadFile(dir + "/status")
		if err != nil || !first(status) {
			continue // or it has ended
		}
		environ, _ := os.ReadFile(dir + "/environ")
		env := strings.Split(strings.TrimRight(string(environ), "\x00"), "\x00")
		for _, variable := range env {
			if name, ok := strings.CutPrefix(variable, "HOSTNAME="); ok && wanted[name] {
				if _, twice := found[name]; twice {
					return nil, fmt.Errorf("find container: two of %s", name)
				}
				c := container{env: env}
				if c.pid, err = strconv.Atoi(filepath.Base(dir)); err == nil {
					err = c.readCgroups()
				}
				if err != nil {
					return nil, err
				}
				found[name] = c
			}
		}
	}
	if len(found) != len(pods) {
		return nil, fmt.Errorf("find containers: %d of %d are on this machine", len(found), len(pods))
	}
	return found, nil
}

// first tells whether a process is number 1 in its own namespace, and not in ours.
func first(status []byte) bool {
	_, ids, _ := bytes.Cut(status, []byte("\nNSpid:"))
	ids, _, _ = bytes.Cut(ids, []byte("\n"))
	words := bytes.Fields(ids)
	return len(words) > 1 && string(words[len(words)-1]) == "1"
}

func (c *container) readCgroups() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil {
		return err
	}
	_, err = os.Stat("/sys/fs/cgroup/cgroup.controllers")
	c.cgroups, c.usage = cgroups(string(text), err == nil)
	return nil
}

// cgroups gives the directories of a process's cgroups, and the file with their CPU time.
func cgroups(text string, unified bool) (dirs []string, usage string) {
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(words) < 3 {
			continue
		}
		hierarchy, _, _ := strings.Cut(strings.TrimPrefix(words[1], "name="), ",")
		dir := filepath.Join("/sys/fs/cgroup", hierarchy, words[2])
		switch {
		case words[1] == "" && unified:
			return []string{dir}, filepath.Join(dir, "cpu.stat")
		case words[1] == "":
			continue
		case strings.Contains(words[1], "cpuacct"):
			usage = filepath.Join(dir, "cpuacct.usage")
		}
		dirs = append(dirs, dir)
	}
	return dirs, usage
}

// cpu is the CPU time of the container so far, in seconds.
func (c container) cpu() (float64, error) {
	text, err := os.ReadFile(c.usage)
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return cpuSeconds(string(text))
}

func cpuSeconds(text string) (float64, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 1: // cpuacct.usage
		ns, err := strconv.ParseInt(words[0], 10, 64)
		return float64(ns) / 1e9, err
	case len(words) > 1 && words[0] == "usage_usec": // cpu.stat
		us, err := strconv.ParseInt(words[1], 10, 64)
		return float64(us) / 1e6, err
	}
	return 0, fmt.Errorf("read CPU time: %q", text)
}

// pss is the sum of the proportional set sizes of the container's processes, in MB.
func (c container) pss() (mb float64, err error) {
	list, err := os.ReadFile(filepath.Join(c.cgroups[0], "cgroup.procs"))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for pid := range strings.FieldsSeq(string(list)) {
		text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		_, size, _ := strings.Cut(string(text), "\nPss:")
		if size, _, _ = strings.Cut(size, "kB"); size != "" {
			kb, err := strconv.Atoi(strings.TrimSpace(size))
			if err != nil {
				return 0, fmt.Errorf("read memory: %w", err)
			}
			mb += float64(kb) * 1024 / 1e6
		}
	}
	if mb == 0 {
		return 0, errors.New("read memory: no process")
	}
	return mb, nil
}

// enter is a script in the container: its namespaces, its cgroup, its environment.
func (c container) enter(ctx context.Context, script string, env ...string) *exec.Cmd {
	return c.command(ctx, []string{"--all", "--", "/bin/sh", "-c", script}, env)
}

// outside is the same with this machine's process numbers, as an agent needs them that enters
// other containers.
func (c container) outside(ctx context.Context, script string, env ...string) *exec.Cmd {
	return c.command(ctx, []string{"--mount", "--net", "--uts", "--ipc", "--", "unshare", "--mount", "/bin/sh", "-c",
		"mount -t proc proc /proc && " + script}, env)
}

func (c container) command(ctx context.Context, nsenter, env []string) *exec.Cmd {
	join := ""
	for _, dir := range c.cgroups {
		join += "echo $$ > " + dir + "/cgroup.procs && "
	}
	args := append([]string{"-c", join + `exec nsenter "$@"`, "sh", "--target", strconv.Itoa(c.pid)}, nsenter...)
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	cmd.Env = append(append([]string{"HOME=/root", "SHELL=/bin/bash"}, c.env...), env...)
	return cmd
}

// path is a file of the container as this machine sees it.
func (c container) path(name string) string { return fmt.Sprintf("/proc/%d/root%s", c.pid, name) }

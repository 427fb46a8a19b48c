//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/suite/proc"
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
	all, err := proc.Containers()
	if err != nil {
		return nil, err
	}
	found := map[string]container{}
	for _, pod := range pods {
		switch here := all[pod]; len(here) {
		case 0:
			return nil, fmt.Errorf("find containers: that of %s is not on this machine", pod)
		case 1:
			c := container{pid: here[0].PID, env: here[0].Env}
			if err := c.readCgroups(); err != nil {
				return nil, err
			}
			found[pod] = c
		default:
			return nil, fmt.Errorf("find container: %d of %s", len(here), pod)
		}
	}
	return found, nil
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
	for word := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return 0, fmt.Errorf("read memory: %w", err)
		}
		if bytes, err := proc.PSS(pid); err == nil { // or it has ended
			mb += bytes / 1e6
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

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/hostfile"
)

// Paths holds the paths of the files that a launcher writes.
type Paths struct {
	plan.Files
	ground Ground
	legacy string // directory for kubexec.sh and discover_hosts.sh; "": none
	given  given  // --hostfile
}

// Choose decides where the files go. It checks before the wait for workers that --hostfile can be
// read or written. dir is the private directory. Files are made in /etc/mpi only in a pod: elsewhere
// it belongs to the machine.
func Choose(cfg config.Config, ground Ground, dir string, inPod bool) (Paths, error) {
	p := Paths{ground: ground, Files: plan.Files{
		Hostfile: filepath.Join(dir, "hostfile"),
		Hydra:    filepath.Join(dir, "hostfile.hydra"),
		Rsh:      filepath.Join(dir, "rsh"),
		Discover: filepath.Join(dir, "discover_hosts.sh"),
	}}
	if p.legacy = ground.legacy(cfg, inPod); p.legacy != "" {
		p.Hostfile = filepath.Join(p.legacy, "hostfile")
		p.Hydra = filepath.Join(p.legacy, "hostfile.hydra")
	}
	if cfg.Hostfile == "" {
		return p, nil
	}
	var err error
	if p.given, err = giveHostfile(cfg); err != nil {
		return p, err
	}
	if p.given.listed == nil {
		p.Hostfile = p.given.path
	}
	return p, nil
}

func legacyDir(dir string) bool {
	_ = os.MkdirAll(dir, 0o755) // a read-only root is no error: writableFor then fails
	return writableFor(filepath.Join(dir, "hostfile")) == nil
}

// writableFor returns nil if a rename can replace path, and else the error.
func writableFor(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".muster-*")
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			perr.Op, perr.Path = "write", path
		}
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// Write writes the files for hosts. agent is the path of the agent's binary.
func (p Paths) Write(hosts []plan.Host, agent string) error {
	list := plan.HostfileLines(hosts)
	if p.Hostfile == p.given.path {
		if err := p.given.write(hostfile.OpenMPI(list)); err != nil {
			return fmt.Errorf("--hostfile: %w", err)
		}
	} else if err := hostfile.Write(p.Hostfile, hostfile.OpenMPI(list), 0o644); err != nil {
		return err
	}
	if err := hostfile.Write(p.Hydra, hostfile.Hydra(list), 0o644); err != nil {
		return err
	}
	if err := replaceLink(agent, p.Rsh); err != nil {
		return err
	}
	if err := writeDiscover(p.Discover, agent); err != nil || p.legacy == "" {
		return err
	}
	if err := replaceLink(agent, filepath.Join(p.legacy, "kubexec.sh")); err != nil {
		return err
	}
	return writeDiscover(filepath.Join(p.legacy, "discover_hosts.sh"), agent)
}

func writeDiscover(path, agent string) error {
	script := "#!/bin/sh\nexec " + agent + " hosts --format horovod\n"
	if err := hostfile.Write(path, []byte(script), 0o755); err != nil {
		return fmt.Errorf("write discover_hosts.sh: %w", err)
	}
	return nil
}

// replaceLink makes link a symbolic link to target and replaces what was there. At every moment
// there is either the old link or the new one.
func replaceLink(target, link string) error {
	tmp := link + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link the agent: %w", err)
	}
	if err := os.Symlink(target, tmp); err != nil {
		return fmt.Errorf("link the agent: %w", err)
	}
	if err := os.Rename(tmp, link); err != nil {
		return fmt.Errorf("link the agent: %w", err)
	}
	return nil
}

// AgentPath returns the path of the agent: beside our own binary, with symbolic links resolved, or
// else where an injected agent lies.
func AgentPath() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		if self, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find our own binary: %w", err)
		}
	}
	beside := filepath.Join(filepath.Dir(self), "agent")
	for _, path := range []string{beside, names.AgentPath} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", failure.New(names.ExitBug, "install agent and agent-launcher in one directory", "no agent at %s or %s", beside, names.AgentPath)
}

// planName is the name of the plan's file within the private directory.
const planName = "plan.json"

// savePlan saves the plan in a directory, for `agent env` and `agent hosts`.
func savePlan(p plan.Plan, dir string) error {
	text, err := p.Encode()
	if err != nil {
		return err
	}
	return hostfile.Write(filepath.Join(dir, planName), text, 0o600)
}

// LoadPlan reads the plan of the launcher whose broker listens at socket.
func LoadPlan(socket string) (plan.Plan, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(socket), planName))
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read plan: %w", err)
	}
	return plan.Decode(text)
}

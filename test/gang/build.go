//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is where programs and custom resources of a scheduler come from.
type module struct {
	folder   string // below this one: its go.mod pins path at version
	path     string
	version  string
	commands []string // packages below path
	crds     []string // files below path
}

func modules() []module { return []module{volcano(), coscheduling(), kueue()} }

// bin is the directory of the module's programs: beside those of the cluster.
func (m module) bin() string {
	name := filepath.Base(m.path) + "-" + m.version
	return filepath.Join(filepath.Dir(os.Getenv("MUSTER_CLUSTER")), name)
}

// build makes the module's programs, if they are not there. Into a directory
// beside theirs first, so that an interrupted build leaves nothing that looks finished.
func (m module) build(ctx context.Context) error {
	if _, err := os.Stat(m.bin()); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "gang: building %s %s (minutes, the first time)\n", m.path, m.version)
	part := m.bin() + ".part"
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	args := []string{"go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w", "-o", part + "/"}
	for _, c := range m.commands {
		args = append(args, m.path+"/"+c)
	}
	cmd := m.command(ctx, "nice", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", m.path, err, out)
	}
	return os.Rename(part, m.bin())
}

// files are the paths of the module's custom resources.
func (m module) files(ctx context.Context) (list []string, err error) {
	out, err := m.command(ctx, "go", "list", "-mod=readonly", "-f", "{{.Module.Version}} {{.Module.Dir}}", m.path+"/"+m.commands[0]).Output()
	if err != nil {
		return nil, fmt.Errorf("find module %s: %w", m.path, err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if version != m.version {
		return nil, fmt.Errorf("%s/go.mod has %s %s, not %s", m.folder, m.path, version, m.version)
	}
	for _, name := range m.crds {
		list = append(list, filepath.Join(dir, name))
	}
	return list, nil
}

func (m module) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join("test", "gang", m.folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	return cmd
}

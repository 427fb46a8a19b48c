package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

// Module is the module of another project, with the programs that are needed.
type Module struct {
	Dir      string   // of the go.mod that pins it
	Path     string   // as in that go.mod
	Name     string   // name of the programs' directory; the version is appended
	Commands []string // packages below Path
	Stamp    string   // the variable that sets the program's version, if any
}

// Version returns the version in the go.mod.
func (m Module) Version() (string, error) {
	text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("find version: %w", err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(m.Path) + ` (v\S+)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("find version: %s/go.mod has no %s", m.Dir, m.Path)
	}
	return string(found[1]), nil
}

// place returns the directory of the cluster's programs ($MUSTER_CLUSTER), or where test/lab/cluster would put them.
func place() (string, error) {
	if cluster := os.Getenv("MUSTER_CLUSTER"); cluster != "" {
		return filepath.Dir(cluster), nil
	}
	if dir := os.Getenv("MUSTER_CLUSTER_DIR"); dir != "" {
		return filepath.Join(dir, "bin"), nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "muster", "cluster", "bin"), err
}

// Build builds the programs if they do not exist, and returns their directory. It is beside the programs of the
// cluster, even if none runs. The programs are built in another directory first, so
// that an interrupted build does not look finished.
func (m Module) Build(ctx context.Context) (dir string, err error) {
	version, err := m.Version()
	if err != nil {
		return "", err
	}
	place, err := place()
	if err != nil {
		return "", fmt.Errorf("find a place for %s: %w", m.Name, err)
	}
	dir = filepath.Join(place, m.Name+"-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "building %s %s (minutes, the first time)\n", m.Path, version)
	if err := os.MkdirAll(dir+".part", 0o755); err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	flags := "-s -w"
	if m.Stamp != "" {
		flags += " -X " + m.Stamp + "=" + version
	}
	args := []string{"go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-o", dir + ".part/"}
	for _, c := range m.Commands {
		args = append(args, m.Path+"/"+c)
	}
	if out, err := m.command(ctx, "nice", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", m.Path, err, out)
	}
	return dir, os.Rename(dir+".part", dir)
}

// Source returns the directory of the module's files.
func (m Module) Source(ctx context.Context) (string, error) {
	out, err := m.command(ctx, "go", "list", "-mod=readonly", "-f", "{{.Module.Dir}}", m.Path+"/"+m.Commands[0]).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", m.Path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (m Module) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = m.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	return cmd
}

// Venv returns the directory of a Python environment of test/lab/frameworks. If the environment does not exist, it
// is made from pinned packages of PyPI.
func Venv(ctx context.Context, name string) (dir string, err error) {
	root, err := figure.Root()
	if err != nil {
		return "", fmt.Errorf("make the Python environment %s: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "test/lab/run"), "frameworks", "-venv", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make the Python environment %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

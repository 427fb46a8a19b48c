package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/musterhq/muster/test/suite/figure"
)

// Own builds programs of this checkout into dir. names are names of programs, such as agent-launcher. The flags
// are those of `make build`, which has compiled most packages before, followed by flags.
func Own(dir string, flags []string, names ...string) error {
	root, err := figure.Root()
	if err != nil {
		return fmt.Errorf("build %s: %w", names, err)
	}
	folders := map[string]string{"agent": "agent", "agent-launcher": "launcher", "agent-exporter": "exporter", "controller": "controller"}
	for _, name := range names {
		args := slices.Concat([]string{"build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w"}, flags,
			[]string{"-o", filepath.Join(dir, name), "./cmd/" + folders[name]})
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		if !slices.Contains(flags, "-race") { // which needs cgo
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

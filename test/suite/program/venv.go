package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

// Venv gives the directory of a Python environment of test/lab/frameworks, made of
// PyPI's packages at pinned versions if it is not there.
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

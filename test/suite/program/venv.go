package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Venv gives the directory of a Python environment of test/frameworks, made of
// PyPI's packages at pinned versions if it is not there.
func Venv(ctx context.Context, name string) (dir string, err error) {
	cmd := exec.CommandContext(ctx, "go", "run", "github.com/musterhq/muster/test/frameworks", "-venv", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make the Python environment %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

package pipelines

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/program"
)

//go:embed compile.py
var script string

// SDKs are the environments of test/lab/frameworks with a Pipelines SDK.
var SDKs = []string{"kfp1", "kfp2"}

// Step is what the container of a step is given.
type Step struct {
	SDK     string            // its version
	Image   string            //
	Command []string          //
	Args    []string          // without placeholders
	Outputs map[string]string // path of each output
	Metrics string            // the type of the metrics file in that version: an artifact's name, or its type
}

// Compile loads the component file with an SDK and compiles a pipeline that calls it with arguments.
func Compile(ctx context.Context, sdk, component string, arguments map[string]any) (Step, error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return Step{}, err
	}
	return read(ctx, sdk, given, component)
}

// Compiled reads a pipeline of one step that an SDK has compiled.
func Compiled(ctx context.Context, sdk, path string) (Step, error) {
	return read(ctx, sdk, nil, "--compiled", path)
}

func read(ctx context.Context, sdk string, stdin []byte, args ...string) (step Step, err error) {
	dir, err := program.Venv(ctx, sdk)
	if err != nil {
		return step, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python3"), append([]string{"-c", script}, args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil {
		return step, fmt.Errorf("compile %s with %s: %w\n%s", args[len(args)-1], sdk, err, stderr.String())
	}
	return step, json.Unmarshal(out, &step)
}

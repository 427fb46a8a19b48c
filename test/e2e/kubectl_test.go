//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

// kubectlCall is one call of kubectl in a namespace.
type kubectlCall struct {
	namespace string
	stdin     []byte
	limit     time.Duration // 0: a minute
}

// run gives stdout; stderr stands in the error.
func (c kubectlCall) run(args ...string) (string, error) {
	if c.limit == 0 {
		c.limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, kube.Path(), append([]string{"--namespace", c.namespace}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), &callError{args: args, err: err, stderr: stderr.String()}
	}
	return stdout.String(), nil
}

// callError is a kubectl that ended badly; Unwrap leads to its exit code.
type callError struct {
	args   []string
	err    error
	stderr string
}

func (e *callError) Error() string {
	return fmt.Sprintf("kubectl %s: %v\n%s", strings.Join(e.args, " "), e.err, e.stderr)
}

func (e *callError) Unwrap() error { return e.err }

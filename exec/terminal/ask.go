package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// mostSaid is how many bytes of the output Ask keeps.
const mostSaid = 4 << 10

// Answer is the result of Ask.
type Answer struct {
	Protocol string // WebSocket or SPDY
	Code     int    // exit code
	Said     string // the beginning of what the command printed, on both streams
}

// Ask runs a command without input. It returns an error if there is no exit code.
func Ask(ctx context.Context, cfg *rest.Config, c Command) (Answer, error) {
	a := Answer{Protocol: "WebSocket"}
	var first error // of WebSocket, before SPDY was tried
	executor, err := dial(cfg, c, false, func(err error) { first, a.Protocol = err, "SPDY" })
	if err != nil {
		return a, fmt.Errorf("exec in %s: %w", c.Pod, err)
	}
	said := &bounded{}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: said, Stderr: said})
	a.Said = said.text.String()
	var exit utilexec.CodeExitError
	var upgrade *httpstream.UpgradeFailureError
	switch {
	case errors.As(err, &exit):
		a.Code = exit.Code
		return a, nil
	case err != nil && errors.As(first, &upgrade) && apierrors.IsForbidden(upgrade.Cause): // the error of SPDY is only text
		return a, fmt.Errorf("exec in %s: %w", c.Pod, upgrade.Cause)
	case err != nil:
		return a, fmt.Errorf("exec in %s: %w", c.Pod, err)
	}
	return a, nil
}

// bounded keeps the beginning of what is written. Both streams of a command write to it.
type bounded struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p[:min(len(p), mostSaid-b.text.Len())])
	return len(p), nil
}

// Package terminal runs a command in a pod interactively, like kubectl exec -it: with a terminal of
// the window's size if there is one, else with plain streams.
//
// It takes a rest.Config, the pod, the command, and the files of the program. It promises to
// restore the terminal in every case, and to return the exit code of the command as an *ExitError.
// It does not reconnect after a lost connection, because input must not reach another shell than
// the user expects.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// Command is what to run, and where.
type Command struct {
	Namespace, Pod, Container string
	Argv                      []string
	In, Out, Err              *os.File
}

// ExitError reports an exit code other than 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the command exited with %d", e.Code) }

// resizeEvery is how often the size of the window is read, because not every system has a signal
// for it.
const resizeEvery = 250 * time.Millisecond

// Run runs the command and returns when it has ended, or when ctx has.
func Run(ctx context.Context, cfg *rest.Config, c Command) error {
	tty := term.IsTerminal(int(c.In.Fd())) && term.IsTerminal(int(c.Out.Fd()))
	var first error // of WebSocket, before SPDY was tried
	executor, err := dial(cfg, c, tty, func(err error) { first = err })
	if err != nil {
		return fmt.Errorf("exec in %s: %w", c.Pod, err)
	}
	options := remotecommand.StreamOptions{Stdin: c.In, Stdout: c.Out, Stderr: c.Err, Tty: tty}
	if tty {
		before, err := term.MakeRaw(int(c.In.Fd()))
		if err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(c.In.Fd()), before) }()
		sizes, stop := context.WithCancel(ctx)
		defer stop()
		options.Stderr, options.TerminalSizeQueue = nil, &window{ctx: sizes, of: c.Out}
	}
	err = executor.StreamWithContext(ctx, options)
	var exit utilexec.CodeExitError
	var upgrade *httpstream.UpgradeFailureError
	switch {
	case errors.As(err, &exit):
		return &ExitError{exit.Code}
	case err != nil && errors.As(first, &upgrade) && apierrors.IsForbidden(upgrade.Cause): // the error of SPDY is only text
		return fmt.Errorf("exec in %s: %w", c.Pod, upgrade.Cause)
	case err != nil:
		return fmt.Errorf("exec in %s: %w", c.Pod, err)
	}
	return nil
}

// dial prefers WebSocket, like kubectl. If it falls back to SPDY, it calls refused with the
// WebSocket error.
func dial(cfg *rest.Config, c Command, tty bool, refused func(error)) (remotecommand.Executor, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	u := base.JoinPath("api/v1/namespaces", c.Namespace, "pods", c.Pod, "exec")
	q := url.Values{"command": c.Argv, "stdin": {"true"}, "stdout": {"true"}}
	if c.Container != "" {
		q.Set("container", c.Container)
	}
	if tty {
		q.Set("tty", "true")
	} else {
		q.Set("stderr", "true")
	}
	u.RawQuery = q.Encode()
	spdy, err := remotecommand.NewSPDYExecutor(cfg, "POST", u)
	if err != nil {
		return nil, err
	}
	socket, err := remotecommand.NewWebSocketExecutor(cfg, "GET", u.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		refused(err)
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// window reports the size of the terminal, at first and after each change.
type window struct {
	ctx  context.Context // of the command: the interface of the queue takes none
	of   *os.File
	last remotecommand.TerminalSize
}

// Next implements remotecommand.TerminalSizeQueue.
func (w *window) Next() *remotecommand.TerminalSize {
	t := time.NewTicker(resizeEvery)
	defer t.Stop()
	for {
		width, height, err := term.GetSize(int(w.of.Fd()))
		now := remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)}
		if err == nil && now != w.last {
			w.last = now
			return &now
		}
		select {
		case <-w.ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

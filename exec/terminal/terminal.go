// Package terminal runs a command in a pod for somebody who sits before it, as
// kubectl exec -it does: with a terminal of the window's size where there is one,
// else with plain streams.
//
// It takes a rest.Config, whose pod and what to run, and the program's own files.
// It promises: the terminal is as it was before, whatever happens; the exit code of
// the command is an *ExitError. It will not go on when the connection is lost: what
// people type must not reach another shell than they believe.
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

// ExitError is the end of a command that is not 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the command ended with %d", e.Code) }

// resizeEvery is how often the window is looked at: not every system has a signal
// for it.
const resizeEvery = 250 * time.Millisecond

// Run returns when the command has ended, or ctx has.
func Run(ctx context.Context, cfg *rest.Config, c Command) error {
	tty := term.IsTerminal(int(c.In.Fd())) && term.IsTerminal(int(c.Out.Fd()))
	var first error // of WebSocket, after which SPDY was tried
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
	case err != nil && errors.As(first, &upgrade) && apierrors.IsForbidden(upgrade.Cause): // SPDY's error is text
		return fmt.Errorf("exec in %s: %w", c.Pod, upgrade.Cause)
	case err != nil:
		return fmt.Errorf("exec in %s: %w", c.Pod, err)
	}
	return nil
}

// dial prefers WebSocket, as kubectl does. refused gets its error if SPDY is tried then.
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

// window tells the size of the terminal, at first and whenever it has changed.
type window struct {
	ctx  context.Context // of the command: the queue's interface takes none
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

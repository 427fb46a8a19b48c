//go:build linux

package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

const (
	// quietTime is how long the bucket is checked without a word.
	quietTime = 3 * time.Second
	// ownName is the prefix of the program's messages, and hintMark that of its hints. The program writes a message
	// and its hint together.
	ownName  = "agent-exporter: "
	hintMark = "hint: "
)

// Check returns why the bucket cannot be written, or nil. The program asks for at most half a minute.
func Check(ctx context.Context, c Config) error {
	said, stderr, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	proc, err := c.Reaper.Start(reap.Spec{Path: c.Path, Argv: []string{c.Path, "check", c.To}, Env: c.Env, Files: []*os.File{nil, nil, stderr}, Setsid: true})
	stderr.Close()
	if err != nil {
		return failure.Usage("copy agent-exporter from Muster's image to "+filepath.Dir(c.Path)+", or run make build in a checkout", "--output=%s: %s", c.To, phrase.OneLine(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.SignalGroup(syscall.SIGKILL) })
	defer stop()
	slow := time.AfterFunc(quietTime, func() { c.Voice.Say("waiting for the server of %s to answer", c.To) })
	defer slow.Stop()
	text, err := io.ReadAll(said) // the program's own errors are short
	code := proc.Status().Code
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case code == 0 || err != nil:
		return err
	}
	problem, hint := lastWords(text)
	if problem == "" {
		problem = "agent-exporter " + phrase.HowEnded(code, 0)
	}
	if code != names.ExitUsage {
		code = names.ExitOutput
	}
	return failure.New(code, hint, "--output=%s: %w", c.To, errors.New(problem))
}

// lastWords returns the last problem in what the program prints, and its hint.
func lastWords(text []byte) (problem, hint string) {
	for line := range bytes.Lines(text) {
		line := strings.ToValidUTF8(strings.TrimSpace(string(line)), "")
		if after, ok := strings.CutPrefix(line, hintMark); ok {
			hint = after
		} else if line != "" {
			problem, hint = strings.TrimPrefix(line, ownName), ""
		}
	}
	return problem, hint
}

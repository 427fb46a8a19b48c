//go:build linux

package upload

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/reap"
)

// words collects what the user sees.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// config returns a Config whose program is a shell script, and what the user sees. A process may have only one Reaper,
// so these tests run one after the other.
func config(t *testing.T, script string) (Config, *words) {
	t.Helper()
	r := reap.New()
	ctx, stop := context.WithCancel(context.Background())
	var reaping sync.WaitGroup
	reaping.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() { stop(); reaping.Wait() })
	said := &words{}
	return Config{Reaper: r, Path: program(t, script), Env: os.Environ(), To: "s3://logs/a", Dir: t.TempDir(), Voice: &console.Voice{Out: said}, Log: slog.New(slog.DiscardHandler)}, said
}

// program writes a script for another program of the same Config.
func program(t *testing.T, script string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return path
}

func TestCheck(t *testing.T) {
	for name, row := range map[string]struct {
		script, want, hint string
		code               int
	}{
		"well":           {`test "$*" = "check s3://logs/a"`, "", "", 0},
		"a lasting":      {`printf 'agent-exporter: no bucket\nhint: make it\n' >&2; exit 64`, "--output=s3://logs/a: no bucket", "make it", 64},
		"a passing":      {`echo 'agent-exporter: no answer' >&2; exit 74`, "--output=s3://logs/a: no answer", "", 74},
		"without a word": {`exit 5`, "--output=s3://logs/a: agent-exporter exited with 5", "", 74},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := config(t, row.script)
			err := Check(t.Context(), c)
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			var f *failure.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, row.want, err.Error())
			require.Equal(t, row.hint, f.Hint())
			require.Equal(t, row.code, failure.CodeOf(err))
		})
	}
	c, _ := config(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Check(ctx, c), context.Canceled)
	c.Path = "/nowhere/agent-exporter"
	require.ErrorContains(t, Check(t.Context(), c), "start /nowhere/agent-exporter: no such file or directory")
}

// TestCloseWaitsForTheRest checks what the end of a run returns, and that messages of the program before it are printed.
func TestCloseWaitsForTheRest(t *testing.T) {
	c, said := config(t, `touch "$3/began"; printf 'agent-exporter: it is down\nhint: look\n' >&2; touch "$3/said"; cat >/dev/null; touch "$3/rest"`)
	u := Start(c)
	require.Eventually(t, func() bool { return strings.HasSuffix(said.String(), "look\n") }, 10*time.Second, time.Millisecond)
	require.NoError(t, u.Close(t.Context()))
	require.FileExists(t, filepath.Join(c.Dir, "rest"))
	require.Equal(t, "agent: it is down\nhint: look\n", said.String())
	require.NoError(t, u.Close(t.Context()), "again")

	told := said.String()
	c.Path = program(t, `cat >/dev/null; printf 'agent-exporter: 3 bytes left\nhint: look\n' >&2; exit 74`)
	var f *failure.Failure
	require.ErrorAs(t, Start(c).Close(t.Context()), &f)
	require.Equal(t, "--output=s3://logs/a: 3 bytes left", f.Error())
	require.Equal(t, "look", f.Hint())
	require.Equal(t, told, said.String(), "the error says it")
}

// TestAProgramThatDies checks that it is restarted, also if it dies at the end.
func TestAProgramThatDies(t *testing.T) {
	c, _ := config(t, `test -e "$3/a" || { touch "$3/a"; kill -KILL $$; }; cat >/dev/null; test -e "$3/b" || { touch "$3/b"; kill -KILL $$; }; touch "$3/rest"`)
	u := &Upload{cfg: c, again: time.Millisecond, rest: time.Minute, ended: make(chan struct{}), stop: make(chan struct{})}
	u.wg.Go(u.run)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(c.Dir, "a")); return err == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, u.Close(t.Context()))
	require.FileExists(t, filepath.Join(c.Dir, "rest"))

	c.Path = program(t, "kill -KILL $$")
	require.ErrorContains(t, Start(c).Close(t.Context()), "not everything was copied: agent-exporter exited with 137")
}

// TestAStuckProgramIsKilled checks the limit of the wait at the end, and that a signal ends it.
func TestAStuckProgramIsKilled(t *testing.T) {
	c, _ := config(t, "exec sleep 1000")
	u := &Upload{cfg: c, rest: 50 * time.Millisecond, ended: make(chan struct{}), stop: make(chan struct{})}
	u.wg.Go(u.run)
	require.ErrorContains(t, u.Close(t.Context()), "the launcher did not wait longer")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, Start(c).Close(ctx), "the launcher did not wait longer")
	var none *Upload
	require.NoError(t, none.Close(t.Context()))
}

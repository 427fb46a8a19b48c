//go:build linux

package link_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/stacks"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// pythonWorker returns a worker whose Python processes report their stacks.
func pythonWorker(t *testing.T) *contract.Worker {
	dir := t.TempDir()
	require.NoError(t, stacks.Lay(dir))
	return contract.NewWorker(t, func(c *session.Config) { c.PythonDir = dir })
}

// deep is a Python program whose stack is larger than a frame of the protocol.
const deep = `
import sys, threading, time
def %[1]s(n):
    if n: %[1]s(n - 1)
    time.sleep(1000)
for _ in range(90): threading.Thread(target=%[1]s, args=(95,), daemon=True).start()
print("on", flush=True)
%[1]s(3)
`

// TestStacksOfAWorker checks that many ranks with long stacks arrive in several frames. Helpers and
// a rank without Python are reported too, and no rank is disturbed.
func TestStacksOfAWorker(t *testing.T) {
	w := pythonWorker(t)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	list, err := stacksFor(t, l, 5*time.Second, "")
	require.NoError(t, err)
	require.Empty(t, list)

	var sessions []*link.Session
	for i := range 4 {
		argv := []string{"python3", "-c", fmt.Sprintf(deep, strings.Repeat("f", 200))}
		if i == 3 {
			argv = []string{"sh", "-c", "echo on; exec sleep 1000"}
		}
		on := make(chan struct{})
		s, err := l.Open(ctxFor(t), "", wire.Spec{Argv: argv, Env: []string{fmt.Sprint("RANK=", i), "PYTHONPATH=/nowhere"}}, link.Streams{Stdout: &firstLine{on: on}, Stderr: io.Discard})
		require.NoError(t, err)
		<-on
		sessions = append(sessions, s)
	}
	list, err = stacksFor(t, l, 10*time.Second, "")
	require.NoError(t, err)
	require.Len(t, list, 4)
	for _, rec := range list {
		require.NotEmpty(t, rec.Threads)
		if rec.Process.Rank == "3" {
			require.Equal(t, "not Python", rec.Why)
			continue
		}
		require.Empty(t, rec.Why)
		require.Greater(t, len(rec.Text), stacks.MostText*9/10)
	}
	_, err = l.Ask(ctxFor(t)) // the connection still works
	require.NoError(t, err)
	for _, s := range sessions {
		s.Stop(0)
		exit, err := s.Wait(ctxFor(t))
		require.NoError(t, err)
		require.Equal(t, wire.ReasonStopped, exit.Reason)
	}
}

// stacksFor returns the stacks that a worker reports.
func stacksFor(t *testing.T, l *link.Link, limit time.Duration, programs string) ([]wire.StackRecord, error) {
	answer, err := l.Stacks(ctxFor(t), wire.AskRecord{Millis: limit.Milliseconds(), Programs: programs})
	return answer.Stacks, err
}

// firstLine is a writer that closes on at the first write.
type firstLine struct{ on chan struct{} }

func (f *firstLine) Write(p []byte) (int, error) {
	if f.on != nil {
		close(f.on)
		f.on = nil
	}
	return len(p), nil
}

// TestNoStacks checks that the environment of sessions is unchanged if the launcher wants no
// stacks.
func TestNoStacks(t *testing.T) {
	w := pythonWorker(t)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) { c.Hello.NoStacks = true })
	var out strings.Builder
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "echo path $PYTHONPATH"}, link.Streams{Stdout: &out})
	require.NoError(t, err)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, "path\n", out.String())
}

// TestStacksOfAnOldWorker checks that a worker of an older release is not asked, and the error says
// so.
func TestStacksOfAnOldWorker(t *testing.T) {
	l := contract.NewLink(t, newScripted(wire.ProtoMax), quietly)
	linked(t, l)
	_, err := stacksFor(t, l, time.Second, "")
	require.ErrorIs(t, err, link.ErrNoStacks)
}

// TestStacksByPrograms checks that programs of the image are used only if the launcher asks for
// that, which an older launcher does not. These programs do not count as orphans of the worker's
// sessions, and none of their processes is left.
func TestStacksByPrograms(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := "#!/bin/sh\necho >> " + ran + "\n(sleep 0.05 &)\nprintf 'TID %s:\\n#0  0x0 f - /a\\n' $4\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "eu-stack"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	w := pythonWorker(t)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	on := make(chan struct{})
	s, err := l.Open(ctxFor(t), "", wire.Spec{Argv: []string{"sh", "-c", "echo on; exec sleep 1000"}}, link.Streams{Stdout: &firstLine{on: on}, Stderr: io.Discard})
	require.NoError(t, err)
	<-on

	list, err := stacksFor(t, l, 5*time.Second, "")
	require.NoError(t, err)
	require.Equal(t, "not Python", list[0].Why)
	require.NoFileExists(t, ran)

	require.Eventually(t, func() bool { // not while it has just started
		list, err = stacksFor(t, l, 5*time.Second, wire.ProgramsBrief)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0].By == "eu-stack"
	}, 20*time.Second, 100*time.Millisecond)
	require.Empty(t, list[0].Why)
	require.Contains(t, string(list[0].Native), "#0  0x0 f - /a")
	require.FileExists(t, ran)

	s.Stop(0)
	exit, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonStopped, exit.Reason)
}

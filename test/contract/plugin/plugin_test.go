package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/framework/plugin"
	"github.com/musterhq/muster/exec/reap"
)

func TestSampleKeepsTheContract(t *testing.T) {
	path, err := sample()
	require.NoError(t, err, path)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(path))) })
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	l := newLab(t)
	contract.Test(t, func(t *testing.T) framework.Framework {
		p, err := plugin.Open(t.Context(), l.config(path, sha256.Sum256(text)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	})
}

// hostile has the error that each mode causes, after "plugin p: ". patience, if set, is how long the plugin may take.
// A plugin that must answer first has longer, because it takes a second or two to start on a busy machine.
var hostile = map[string]struct {
	want     string
	patience time.Duration
}{
	"hangs-at-start":  {"no handshake within 1.5s of its start", 1500 * time.Millisecond},
	"deaf-at-start":   {"no handshake within 1.5s of its start", 1500 * time.Millisecond},
	"hangs-in-answer": {"it did not answer within 6s", 6 * time.Second},
	"garbage":         {`its output " [31mhello, world" is not the handshake of a plugin`, 0},
	"garbage-flood":   {`its output "` + strings.Repeat("x", 200) + `..." is not the handshake of a plugin`, 0},
	"half-a-line":     {`its output "1|1|unix" is not the handshake of a plugin`, 1500 * time.Millisecond},
	"other-cookie":    {"no handshake: it ended with code 1 because it expects another cookie: it is a plugin of another program", 0},
	"other-protocol":  {"it uses protocol 2, but this launcher uses 1: build it with the plugin package of this release", 0},
	"elsewhere":       {"it listens at unix /tmp/other.sock, want a unix socket in DIR", 0},
	"on-tcp":          {"it listens at tcp 198.18.0.1:80, want a unix socket in DIR", 0},
	"no-certificate":  {"it offers no certificate: plugins must use mutual TLS, as go-plugin's AutoMTLS does", 0},
	"exits-early":     {`no handshake: it ended with code 3, its last output was "first no licence  found"`, 0},
	"exits-in-answer": {`it ended before it answered: it ended with code 6, its last output was "I am out"`, 0},
	"talks-in-answer": {"said it all", 0},
	"panics":          {"it panics: no such thing", 0},
	"floods-and-dies": {`no handshake: it ended with code 4, its last output was "the end"`, 0},
	"dies-with-child": {"no handshake: it ended with code 5", 0},
	"rank-twice":      {"its answer is wrong: processes 0 and 1 both have rank 0", 0},
	"worker-99":       {"its answer is wrong: process 1: it is on worker 99, but there are only 3 workers", 0},
	"file-slash":      {`its answer is wrong: "../../etc/profile" is not a file name, want no directory and no control characters`, 0},
	"name-equals":     {`its answer is wrong: process 0: "A=B" is not the name of a variable`, 0},
	"too-large":       {"the request or the answer is larger than 32 MiB", 0},
}

func TestHostile(t *testing.T) {
	for name, tc := range hostile {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			config := l.mode(t, name)
			if tc.patience != 0 {
				config.Patience = tc.patience
			}
			began := time.Now()
			err := try(t, config)
			took := time.Since(began)
			require.Error(t, err)
			got := err.Error()
			if i := strings.Index(got, l.dir); i >= 0 {
				got = got[:i] + "DIR"
			}
			require.Equal(t, "plugin p: "+tc.want, got)
			if tc.patience != 0 {
				require.Less(t, took, 15*time.Second)
			}
			requireNoProcess(t, l)
		})
	}
}

// try opens a plugin and calls it once.
func try(t *testing.T, c external.Config) error {
	p, err := plugin.Open(t.Context(), c)
	if err != nil {
		require.Nil(t, p)
		return err
	}
	launch, err := p.Prepare(contract.Cluster(3, 1, []string{"true"}))
	require.Zero(t, launch)
	require.NoError(t, p.Close())
	return err
}

// requireNoProcess requires that no process or zombie is left, in the lab's directory or below this program. This
// program is the parent of all orphans, as PID 1 is. It reaps them a moment after they end.
func requireNoProcess(t *testing.T, l *lab) {
	require.Zero(t, l.reaper.Running())
	var left []string
	require.Eventually(t, func() bool {
		procs, err := reap.Scan("MUSTER_RUN")
		require.NoError(t, err)
		left = nil
		for _, p := range procs {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
			if p.PPID == os.Getpid() || err == nil && strings.HasPrefix(exe, l.bin) {
				left = append(left, fmt.Sprintf("%+v %s", p, exe))
			}
		}
		return len(left) == 0
	}, 10*time.Second, 10*time.Millisecond, "left: %v", left)
}

func TestFiles(t *testing.T) {
	l := newLab(t)
	config := l.mode(t, "good")
	good := config.Path
	text, err := os.ReadFile(good) // a copy: all links to a file share its mode and owner
	require.NoError(t, err)
	require.NoError(t, os.Remove(good))
	require.NoError(t, os.WriteFile(good, text, 0o755))
	fails := func(want string) {
		t.Helper()
		require.EqualError(t, try(t, config), "plugin p: "+want)
	}
	require.NoError(t, os.Chmod(good, 0o757))
	fails(good + " is writable by group or others (mode 0757): chmod go-w")
	require.NoError(t, os.Chmod(good, 0o775))
	fails(good + " is writable by group or others (mode 0775): chmod go-w")
	require.NoError(t, os.Chmod(good, 0o644))
	fails("it cannot be run: permission denied")
	require.NoError(t, os.Chmod(good, 0o755))

	require.NoError(t, os.Chmod(l.bin, 0o777))
	fails("its directory " + l.bin + " is writable by group or others (mode 0777): chmod go-w")
	require.NoError(t, os.Chmod(l.bin, 0o777|os.ModeSticky))
	p, err := plugin.Open(t.Context(), config)
	require.NoError(t, err, "a sticky directory")
	require.NoError(t, p.Close())
	require.NoError(t, os.Chmod(l.bin, 0o755))

	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(good, 65534, 0))
		fails(good + " belongs to uid 65534, want root or the uid of the launcher, 0")
		require.NoError(t, os.Chown(good, 0, 0))
	}
	config.Sum[0]++
	sum := fmt.Sprintf("%x", config.Sum)
	config.Sum[0]--
	wrong := config
	wrong.Sum[0]++
	require.EqualError(t, try(t, wrong), fmt.Sprintf("plugin p: %s has the SHA-256 sum %x, want %s", good, config.Sum, sum))

	config.Path = "good"
	fails("path good is not absolute")
	config.Path = l.bin
	fails(l.bin + " is not a regular file")
	config.Path = filepath.Join(l.bin, "none")
	fails("open " + config.Path + ": no such file or directory")
	config.Path = filepath.Join(l.bin, "fifo")
	require.NoError(t, syscall.Mkfifo(config.Path, 0o755))
	fails(config.Path + " is not a regular file")
	requireNoProcess(t, l)
}

// TestHashedFileRuns replaces the file after it was hashed. The hashed file must run.
func TestHashedFileRuns(t *testing.T) {
	l := newLab(t)
	config := l.mode(t, "good")
	config.Starter = &exchanging{Starter: config.Starter, do: func() {
		require.NoError(t, os.Remove(config.Path))
		require.NoError(t, os.WriteFile(config.Path, []byte("#!/bin/sh\necho evil\n"), 0o755))
	}}
	p, err := plugin.Open(t.Context(), config)
	require.NoError(t, err)
	launch, err := p.Prepare(contract.Cluster(2, 1, []string{"true"}))
	require.NoError(t, err)
	require.Len(t, launch.Processes, 2)
	require.NoError(t, p.Close())
}

type exchanging struct {
	external.Starter
	do func()
}

func (e *exchanging) Start(c external.Command) (external.Process, error) {
	e.do()
	return e.Starter.Start(c)
}

func TestNoSecrets(t *testing.T) {
	t.Setenv("LAUNCHERS_OWN", "secret")
	l := newLab(t)
	p, err := plugin.Open(t.Context(), l.mode(t, "spies"))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	_, err = p.Prepare(contract.Cluster(1, 1, []string{"true"}))
	// The certificate in the environment has several lines, so the answer is refused. Read what the plugin saw from
	// /proc instead.
	require.ErrorContains(t, err, "its answer is wrong: warning")
	procs, err := reap.Scan("MUSTER_RUN")
	require.NoError(t, err)
	for _, q := range procs {
		if q.PPID != os.Getpid() {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", q.PID))
		require.NoError(t, err)
		var names []string
		for kv := range bytes.SplitSeq(bytes.Trim(text, "\x00"), []byte{0}) {
			name, _, _ := strings.Cut(string(kv), "=")
			names = append(names, name)
		}
		require.ElementsMatch(t, []string{"MUSTER_PLUGIN_COOKIE", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS",
			"PLUGIN_CLIENT_CERT", "PLUGIN_UNIX_SOCKET_DIR", "MUSTER_RUN"}, names)
		return
	}
	t.Fatal("the plugin's process was not found")
}

// TestFloodIsCut writes 100 MB to standard error. The plugin works, and the log has 64 KiB and a note.
func TestFloodIsCut(t *testing.T) {
	l := newLab(t)
	var log logged
	l.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := plugin.Open(t.Context(), l.mode(t, "floods-stderr"))
	require.NoError(t, err)
	_, err = p.Prepare(contract.Cluster(1, 1, []string{"true"}))
	require.NoError(t, err)
	require.NoError(t, p.Close())
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.Sys)-int64(before.Sys), int64(64<<20))
	text := log.String()
	require.Less(t, len(text), 128<<10)
	require.Equal(t, 1, strings.Count(text, "more than 64 KiB, the rest is dropped"))
	requireNoProcess(t, l)
}

type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// TestChildrenEnd checks that the processes a plugin started end with it, even outside its process group.
func TestChildrenEnd(t *testing.T) {
	l := newLab(t)
	p, err := plugin.Open(t.Context(), l.mode(t, "has-children"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Prepare(contract.Cluster(1, 1, []string{"true"}))
	require.NoError(t, err)
	procs, err := reap.Scan("MUSTER_RUN")
	require.NoError(t, err)
	var mark string
	for _, q := range procs {
		if q.PPID == os.Getpid() {
			mark = q.Marker
		}
	}
	members := reap.NewTree("MUSTER_RUN", mark)
	require.Eventually(t, func() bool {
		all, err := members.Find()
		return err == nil && len(slices.DeleteFunc(all, func(q reap.Proc) bool { return q.Comm != "sleep" || !q.Alive() })) == 2
	}, 10*time.Second, 10*time.Millisecond, "both children sleep")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "second Close")
	left, err := members.Find()
	require.NoError(t, err)
	for _, q := range left {
		require.False(t, q.Alive(), "left: %+v", q)
	}
	_, err = p.Prepare(contract.Cluster(1, 1, []string{"true"}))
	require.ErrorContains(t, err, "plugin p: it has ended: it ended with code 137")
	requireNoProcess(t, l)
}

// TestCanceledStart cancels the launcher's context while a plugin hangs at its start.
func TestCanceledStart(t *testing.T) {
	l := newLab(t)
	config := l.mode(t, "hangs-at-start")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, fmt.Errorf("told to stop"))
	defer cancel()
	_, err := plugin.Open(ctx, config)
	require.EqualError(t, err, "plugin p: start: told to stop")
	requireNoProcess(t, l)
}

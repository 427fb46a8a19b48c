//go:build skew && linux

package skew

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/proc"
	"github.com/musterhq/muster/test/suite/program"
)

// within are the pairs that must work. The last pair shows that these tests do not depend on the skew.
var within = []pair{{today, before}, {before, today}, {today, today}}

// linksUp counts the connections in the launcher's log that were made to workers of the pair's release, with the
// protocol that the pair must choose.
func (p pair) linksUp(o outcome) int {
	return len(regexp.MustCompile(fmt.Sprintf(`"msg":"link up".*"agent":"%s","proto":%d\}`,
		p.workers.version, min(p.launcher.max, p.workers.max))).FindAllString(o.err, -1))
}

// TestRanges checks that the builds have the versions that their names say.
func TestRanges(t *testing.T) {
	require.Equal(t, today.max-1, before.max)
	require.Greater(t, next.min, today.max)
	for _, p := range within {
		o := p.run(t, "$AGENT version; exec $AGENT rsh 127.0.0.2 '"+p.workers.path("agent")+" version'")
		require.Zero(t, o.code, o.err)
		for _, r := range []release{p.launcher, p.workers} {
			require.Regexp(t, fmt.Sprintf(`(?m)^agent(-launcher)? %s \(.*protocol %d to %d\)`, r.version, r.min, r.max), o.out)
		}
		require.Equal(t, 2, p.linksUp(o), "the launcher's log has the release and protocol of each worker:\n%s", o.err)
	}
}

// TestSessions checks input, output, errors and exit codes over connections that are cut every 64 KiB.
func TestSessions(t *testing.T) {
	var want strings.Builder
	for i := range 120_000 {
		fmt.Fprintln(&want, i+1)
	}
	sum := fmt.Sprintf("%x  -\n", sha256.Sum256([]byte(want.String())))
	const script = `
seq 1 120000 | $AGENT rsh 127.0.0.2 'cat; echo to stderr >&2; exit 7' | sha256sum
$AGENT rsh 127.0.0.3 'seq 1 120000; kill -9 $$' | sha256sum
seq 1 120000 | $AGENT rsh 127.0.0.3 sha256sum
$AGENT rsh 127.0.0.2 'exit 7'; echo $?
$AGENT rsh 127.0.0.3 'kill -9 $$'; echo $?`
	for _, p := range within {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := p.run(t, script, "--fake-fault=drop every=64KiB")
			require.Zero(t, o.code, o.err)
			require.Equal(t, sum+sum+sum+"7\n137\n", o.out)
			require.Equal(t, 1, strings.Count(o.err, "to stderr\n"), o.err)
			require.GreaterOrEqual(t, o.report.Redials, 20, "connections were cut")
			require.Equal(t, 5, o.report.Sessions)
			require.Empty(t, o.report.Lost)
			require.GreaterOrEqual(t, p.linksUp(o), o.report.Redials+2)
			// The last connections may be cut, and redialed, after the report.
			require.Equal(t, strings.Count(o.err, `"link up"`), p.linksUp(o), "every connection uses the same protocol")
		})
	}
}

// TestIdle checks that PING and PONG keep an idle link alive for longer than the lease, and that a command that
// fails ends cleanly: the workers answer.
func TestIdle(t *testing.T) {
	for _, p := range within {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := p.run(t, `$AGENT rsh 127.0.0.2 'sleep 5; echo awake'; exit 5`, "--lease=3s")
			require.Equal(t, 5, o.code, o.err)
			require.Equal(t, "awake\n", o.out)
			require.Zero(t, o.report.Redials, o.err)
			require.Empty(t, o.report.Lost)
		})
	}
}

// TestNoCommonVersion checks that the launcher fails at once, because waiting cannot help.
func TestNoCommonVersion(t *testing.T) {
	for _, p := range []pair{{today, next}, {next, today}, {before, next}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := p.run(t, "echo ran")
			require.Equal(t, names.ExitHopeless, o.code, o.err)
			require.Empty(t, o.out, "the command must not run")
			require.Regexp(t, fmt.Sprintf(`(?m)^agent: .*127\.0\.0\.\d.*the worker's agent %s speaks protocol %d to %d, the launcher's %s speaks %d to %d$`,
				p.workers.version, p.workers.min, p.workers.max, p.launcher.version, p.launcher.min, p.launcher.max), o.err)
			require.Contains(t, o.err, "hint: ")
		})
	}
}

// release is one build of both binaries.
type release struct {
	version  string // the version that it prints
	tag      string // "" for today's protocol
	min, max int    // the protocols it speaks
}

var (
	before = release{"v1.1.0", "muster_proto_old", 1, 1}
	today  = release{"v1.2.0", "", 1, 2}
	next   = release{"v1.9.0", "muster_proto_next", 3, 3}
)

// built is the directory of the releases: VERSION/agent, VERSION/agent-launcher.
var built string

func TestMain(m *testing.M) {
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/skew:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (code int, err error) {
	if built, err = os.MkdirTemp("", "skew"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
	for _, r := range []release{before, today, next} {
		if err := r.build(); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// build builds both binaries with the flags of `make build`, so that packages that do not differ are not compiled
// again.
func (r release) build() error {
	tags := "grpcnotrace"
	if r.tag != "" {
		tags += "," + r.tag
	}
	flags := []string{"-tags=" + tags, "-ldflags=-s -w -X github.com/musterhq/muster/exec/build.release=" + r.version}
	return program.Own(filepath.Dir(r.path("agent")), flags, "agent", "agent-launcher")
}

func (r release) path(name string) string { return filepath.Join(built, r.version, name) }

// patience is the time limit of a run. It allows for busy machines.
const patience = 90 * time.Second

// pair is a launcher of one release with workers of another.
type pair struct{ launcher, workers release }

func (p pair) String() string { return p.launcher.version + "-over-" + p.workers.version }

// outcome is the result of a run.
type outcome struct {
	code     int
	out, err string
	report   report.Report
}

// run runs `agent run --fake=2 FLAGS -- sh -c SCRIPT`. $AGENT in the script is the launcher's agent. Fake workers
// run the agent beside the launcher's binary, so each pair has its own directory.
func (p pair) run(t *testing.T, script string, flags ...string) outcome {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.Link(p.launcher.path("agent-launcher"), filepath.Join(bin, "agent-launcher")))
	require.NoError(t, os.Link(p.workers.path("agent"), filepath.Join(bin, "agent")))
	// A socket's path must be short.
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })

	report := filepath.Join(bin, "report.json")
	argv := append([]string{"run", "--fake=2", "--exit=command", "--report=" + report, "--log-level=debug"}, flags...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "agent-launcher"), append(argv, "--", "sh", "-c", script)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 5*time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MUSTER_DIR=" + dir, "AGENT=" + p.launcher.path("agent")}
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, stderr.String())
	}
	require.NoError(t, ctx.Err(), "the run hangs:\n%s", stderr.String())
	o := outcome{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String()}
	text, err := os.ReadFile(report)
	require.NoError(t, err, o.err)
	require.NoError(t, json.Unmarshal(text, &o.report))
	requireNobodyLeft(t, dir)
	return o
}

// requireNobodyLeft requires that no process has dir in its environment.
func requireNobodyLeft(t *testing.T, dir string) {
	t.Helper()
	left := func() []proc.Process {
		return proc.Find(func(env []string) bool { return strings.Contains(strings.Join(env, "\x00"), "="+dir) })
	}
	require.Eventually(t, func() bool { return len(left()) == 0 }, 10*time.Second, 50*time.Millisecond, "left: %v", left())
}

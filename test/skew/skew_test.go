//go:build skew && linux

package skew

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
)

// within are the pairs that must work; the last one shows that nothing of these
// tests depends on the skew.
var within = []pair{{today, before}, {before, today}, {today, today}}

// linksUp counts the connections that the launcher says it made to workers of
// the pair's release, in the protocol that the pair must settle on.
func (p pair) linksUp(o outcome) int {
	return len(regexp.MustCompile(fmt.Sprintf(`"msg":"link up".*"agent":"%s","proto":%d\}`,
		p.workers.version, min(p.launcher.max, p.workers.max))).FindAllString(o.err, -1))
}

// TestRanges: the builds are what their names say.
func TestRanges(t *testing.T) {
	require.Equal(t, today.max-1, before.max)
	require.Greater(t, next.min, today.max)
	for _, p := range within {
		o := p.run(t, "$AGENT version; exec $AGENT rsh 127.0.0.2 '"+p.workers.path("agent")+" version'")
		require.Zero(t, o.code, o.err)
		for _, r := range []release{p.launcher, p.workers} {
			require.Regexp(t, fmt.Sprintf(`(?m)^agent(-launcher)? %s \(.*protocol %d to %d\)`, r.version, r.min, r.max), o.out)
		}
		require.Equal(t, 2, p.linksUp(o), "the launcher's log says which release and protocol a worker has:\n%s", o.err)
	}
}

// TestSessions: input, output, errors and exit codes over connections that are
// cut every 64 KiB.
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
			// The last of them may be cut, and made again, after the report.
			require.Equal(t, strings.Count(o.err, `"link up"`), p.linksUp(o), "every connection speaks the same")
		})
	}
}

// TestIdle: an idle link lives on PING and PONG alone, for longer than the lease,
// and a command that fails ends well: the workers prove that they are there.
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

// TestBeyond: no common version. Nobody waits for what cannot come.
func TestBeyond(t *testing.T) {
	for _, p := range []pair{{today, next}, {next, today}, {before, next}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := p.run(t, "echo ran")
			require.Equal(t, names.ExitHopeless, o.code, o.err)
			require.Empty(t, o.out, "the command was not run")
			require.Regexp(t, fmt.Sprintf(`(?m)^agent: .*127\.0\.0\.\d.*the worker's agent %s speaks protocol %d to %d, the launcher's %s speaks %d to %d$`,
				p.workers.version, p.workers.min, p.workers.max, p.launcher.version, p.launcher.min, p.launcher.max), o.err)
			require.Contains(t, o.err, "hint: ")
		})
	}
}

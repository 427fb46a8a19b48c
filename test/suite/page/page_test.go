package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPut(t *testing.T) {
	for _, c := range []struct{ name, before, after, err string }{
		{"replaced", "a\n<!-- x: begin (make y) -->\nold\n<!-- x: end -->\nb\n", "a\n<!-- x: begin (make y) -->\nnew\n<!-- x: end -->\nb\n", ""},
		{"empty before", "<!-- x: begin -->\n<!-- x: end -->", "<!-- x: begin -->\nnew\n<!-- x: end -->", ""},
		{"of two places the named one", "<!-- y: begin -->\nz\n<!-- y: end -->\n<!-- x: begin -->\n<!-- x: end -->\n",
			"<!-- y: begin -->\nz\n<!-- y: end -->\n<!-- x: begin -->\nnew\n<!-- x: end -->\n", ""},
		{"no place", "text\n", "text\n", "has no lines"},
		{"no end", "<!-- x: begin -->\ntext\n", "<!-- x: begin -->\ntext\n", "has no lines"},
		{"the wrong way round", "<!-- x: end -->\n<!-- x: begin -->\n", "<!-- x: end -->\n<!-- x: begin -->\n", "has no lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page.md")
			require.NoError(t, os.WriteFile(file, []byte(c.before), 0o644))
			err := Put(file, "x", "new\n")
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, c.after, string(got))
		})
	}
	require.Error(t, Put(filepath.Join(t.TempDir(), "none"), "x", ""))
}

// mostNotRun is how many blocks no test pastes: they need what a test cluster has not, such as a
// published release.
const mostNotRun = 17

// TestEveryCommandIsPasted: a block with commands says so, and make e2e-paste runs it; the
// few that cannot be run here say why, each beside itself.
func TestEveryCommandIsPasted(t *testing.T) {
	pages, err := Pages("../../..")
	require.NoError(t, err)
	pasted, left := 0, 0
	for _, blocks := range pages {
		for _, b := range blocks {
			switch {
			case b.NotRun != "":
				require.NotEmpty(t, b.Commands(), "%s: there is nothing to run", b.At())
				require.Greater(t, len(b.NotRun), 10, "%s: why?", b.At())
				t.Logf("%s: not run: %s", b.At(), b.NotRun)
				left++
			case b.Commands() != "":
				require.Contains(t, []string{"", "launcher"}, b.Word, b.At())
				pasted++
			default:
				require.Empty(t, LooksTyped(b.Text), "%s: this is to be typed: begin the block with ```sh", b.At())
			}
		}
	}
	t.Logf("%d blocks are pasted, %d are not", pasted, left)
	require.LessOrEqual(t, left, mostNotRun)
	require.Greater(t, pasted, 30)
}

// TestNoCommandWaitsForAPodToBeReady: a pod that has ended before it was seen to be ready never
// is, and the command waits for ever.
func TestNoCommandWaitsForAPodToBeReady(t *testing.T) {
	pages, err := Pages("../../..")
	require.NoError(t, err)
	for _, blocks := range pages {
		for _, b := range blocks {
			require.NotRegexp(t, `condition=Ready pods?\b`, b.Commands(), b.At())
		}
	}
}

func TestBlocks(t *testing.T) {
	text := "# a\n```sh\nagent list\n```\ntext\n\n    agent: printed\n    hint: so\n\n<!-- not run: needs a moon -->\n```sh launcher\nfly\n```\n```console\n$ a\nb\n$ c\n```\n- item\n    more of it\n```yaml pi.yaml\na: 1\n```"
	blocks := Blocks("p.md", text)
	require.Equal(t, []Block{
		{"p.md", 2, "sh", "", "agent list\n", ""},
		{"p.md", 7, "", "", "agent: printed\nhint: so\n", ""},
		{"p.md", 11, "sh", "launcher", "fly\n", "needs a moon"},
		{"p.md", 14, "console", "", "$ a\nb\n$ c\n", ""},
		{"p.md", 21, "yaml", "pi.yaml", "a: 1\n", ""},
	}, blocks)
	require.Equal(t, "a\nc\n", blocks[3].Commands())
	require.Empty(t, blocks[4].Commands())
	require.Equal(t, "kubectl get pods", LooksTyped("x\n  kubectl get pods\n"))
	require.Empty(t, LooksTyped("agent: 1/2 ready\nmake\n"))
}

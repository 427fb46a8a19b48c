package page

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// mostUnseen is the maximum number of blocks that no suite runs. They need something that no test cluster has.
const mostUnseen = 17

// suite matches the make target that runs what a block cannot show here.
var suite = regexp.MustCompile(`\bmake [a-z][a-z0-9-]+`)

// TestEveryCommandIsPasted checks that a block with commands is declared as one, so that make e2e-paste runs it.
// Other blocks have a comment that says why they are not run, and mostly which suite does the same.
func TestEveryCommandIsPasted(t *testing.T) {
	pages, err := Pages("../../..")
	require.NoError(t, err)
	pasted, elsewhere, unseen := 0, 0, 0
	for _, blocks := range pages {
		for _, b := range blocks {
			switch {
			case b.NotRun != "":
				require.Greater(t, len(b.NotRun), 10, "%s: give a longer reason", b.At())
				if suite.MatchString(b.NotRun) {
					elsewhere++
				} else {
					t.Logf("%s: not run: %s", b.At(), b.NotRun)
					unseen++
				}
			case b.Commands() != "":
				require.Contains(t, []string{"", "launcher"}, b.Word, b.At())
				pasted++
			case b.Language != "messages":
				require.Empty(t, LooksTyped(b.Text), "%s: this looks like a command: begin the block with ```sh", b.At())
			}
		}
	}
	t.Logf("%d blocks are pasted, %d are run by other suites, %d are not run", pasted, elsewhere, unseen)
	require.LessOrEqual(t, unseen, mostUnseen)
	require.Greater(t, pasted, 30)
}

// TestEveryShellAndYAMLBlockIsUsed checks that commands of the page read each named file, and that a test reads
// each block of YAML without a name. Other blocks must give a reason.
func TestEveryShellAndYAMLBlockIsUsed(t *testing.T) {
	pages, err := Pages("../../..")
	require.NoError(t, err)
	yaml := 0
	for _, blocks := range pages {
		var commands strings.Builder
		for _, b := range blocks {
			commands.WriteString(b.Commands())
		}
		for _, b := range blocks {
			require.NotContains(t, []string{"bash", "shell", "zsh", "yml"}, b.Language, "%s: write sh, console or yaml", b.At())
			if b.Language != "yaml" || b.NotRun != "" {
				continue
			}
			yaml++
			if b.Word != "" {
				require.Contains(t, commands.String(), b.Word, "%s: no command of the page reads this file", b.At())
				continue
			}
			file, test, ok := strings.Cut(b.RunBy, " ")
			require.True(t, ok, "%s: give the file a name, or name the test that reads it: <!-- run by: FILE TEST -->", b.At())
			code, err := os.ReadFile(filepath.Join("../../..", file))
			require.NoError(t, err, b.At())
			require.Contains(t, string(code), "func "+test+"(", b.At())
		}
	}
	require.Greater(t, yaml, 20)
}

// TestEveryBlockOfExamplesIsRun checks that each README has at most one sh block. test/lab/examples runs only the
// first one.
func TestEveryBlockOfExamplesIsRun(t *testing.T) {
	pages, err := Examples("../../..")
	require.NoError(t, err)
	for name, blocks := range pages {
		typed := 0
		for _, b := range blocks {
			require.Contains(t, []string{"", "sh", "text"}, b.Language, b.At())
			if b.Language == "sh" && b.NotRun == "" {
				typed++
			}
		}
		require.LessOrEqual(t, typed, 1, "%s: only one block is run", name)
	}
}

// TestNoCommandWaitsForAPodToBeReady finds commands that can wait forever: a pod that ends before it is seen to be
// ready never becomes ready.
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
	text := "# a\n```sh\nagent list\n```\ntext\n\n    agent: printed\n    hint: so\n\n<!-- not run: needs a moon -->\n```sh launcher\nfly\n```\n```console\n$ a\nb\n$ c\n```\n- item\n    more of it\n<!-- x: begin (make y) -->\n```text\nagent a\n```\n<!-- x: end -->\n```yaml pi.yaml\na: 1\n```\n<!-- run by: a_test.go TestA -->\n```yaml\nb: 1\n```"
	blocks := Blocks("p.md", text)
	require.Equal(t, []Block{
		{"p.md", 2, "sh", "", "agent list\n", "", ""},
		{"p.md", 7, "", "", "agent: printed\nhint: so\n", "", ""},
		{"p.md", 11, "sh", "launcher", "fly\n", "needs a moon", ""},
		{"p.md", 14, "console", "", "$ a\nb\n$ c\n", "", ""},
		{"p.md", 26, "yaml", "pi.yaml", "a: 1\n", "", ""},
		{"p.md", 30, "yaml", "", "b: 1\n", "", "a_test.go TestA"},
	}, blocks)
	require.Equal(t, "a\nc\n", blocks[3].Commands())
	require.Empty(t, blocks[4].Commands())
	require.Equal(t, "kubectl get pods", LooksTyped("x\n  kubectl get pods\n"))
	require.Empty(t, LooksTyped("agent: 1/2 ready\nmake\n"))
}

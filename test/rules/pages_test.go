package rules

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// pages returns the text of every file below the root that matches a pattern, by its path.
func pages(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root(t), pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all[file] = string(text)
		}
	}
	return all
}

// targets returns all targets of the Makefile, and the targets with a comment, which help lists.
func targets(t *testing.T) (all, listed []string) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):(?:[^=].*)?$`).FindAllStringSubmatch(string(makefile), -1) {
		all = append(all, m[1])
		if strings.Contains(m[0], "## ") && m[1] != "help" {
			listed = append(listed, m[1])
		}
	}
	return all, listed
}

// TestEachMakeTargetOnAPageExists checks commands in backquotes, in code blocks and in hooks, and the lists of
// targets in workflows.
func TestEachMakeTargetOnAPageExists(t *testing.T) {
	all, _ := targets(t)
	command := regexp.MustCompile("(?m)(?:`|^ *(?:- )?(?:run: |entry: )?)make ([a-z0-9-]+)\\b")
	list := regexp.MustCompile(`(?m)^ +(?:targets|options): \[(.+)\]$`)
	seen := 0
	for file, text := range pages(t, "*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "examples/*.md", "examples/*/*.md", ".github/*.md", ".github/workflows/*.yml", ".pre-commit-config.yaml", ".ci/run") {
		var named []string
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			named = append(named, m[1])
		}
		for _, m := range list.FindAllStringSubmatch(text, -1) {
			named = append(named, strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		require.Subset(t, all, named, file)
		seen += len(named)
	}
	require.Greater(t, seen, 100)
}

// TestLinksOfPagesLeadSomewhere checks links to files of this repository.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([\w./-]+)(?:#[^)]*)?\)`)
	for file, text := range pages(t, "*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "examples/*.md", "examples/*/*.md", "exec/*.md") {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), m[1]))
			require.NoError(t, err, "%s links to %s", file, m[1])
		}
	}
}

// TestDependabotLooksAtEachModule compares its directories with the go.mod files that are committed, or will be.
func TestDependabotLooksAtEachModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), ".github", "dependabot.yml"))
	require.NoError(t, err)
	var config struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	var listed, there []string
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" {
			listed = append(listed, u.Directories...)
		}
	}
	files, err := exec.Command("git", "-C", root(t), "ls-files", "-co", "--exclude-standard", "*go.mod").Output()
	require.NoError(t, err)
	for _, file := range strings.Fields(string(files)) {
		if _, err := os.Stat(filepath.Join(root(t), file)); err == nil { // it may be deleted, and not committed yet
			there = append(there, filepath.Join("/", filepath.Dir(file)))
		}
	}
	require.Greater(t, len(there), 10)
	require.ElementsMatch(t, there, listed)
}

// TestHelpFitsOneScreen checks that make help prints at most 40 lines of 80 columns, and that make help-all prints
// every target with a comment once.
func TestHelpFitsOneScreen(t *testing.T) {
	listed := func(target string) (lines int, names []string) {
		out, err := exec.Command("make", "--no-print-directory", "-C", root(t), target).Output()
		require.NoError(t, err)
		for line := range strings.Lines(string(out)) {
			lines++
			require.LessOrEqual(t, len(line), 81, line)
			if strings.HasPrefix(line, "  ") {
				names = append(names, strings.Fields(line)[0])
			}
		}
		return lines, names
	}
	lines, _ := listed("help")
	require.LessOrEqual(t, lines, 40)
	_, want := targets(t)
	_, names := listed("help-all")
	require.ElementsMatch(t, want, names)
}

// TestTheReadmeIsOneScreen limits the README: a visitor decides within a minute. Everything else is in docs.
func TestTheReadmeIsOneScreen(t *testing.T) {
	const most = 5 << 10
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), most, "bytes of README.md; move text to docs")
}

// TestPagesNamedInFilesExist looks for docs/PAGE.md in messages, comments and scripts.
func TestPagesNamedInFilesExist(t *testing.T) {
	page := regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
	files, err := exec.Command("git", "-C", root(t), "grep", "-lI", "docs/", "--", ":!*.md", ":!mkdocs.yml").Output()
	require.NoError(t, err)
	seen := 0
	for _, file := range strings.Fields(string(files)) {
		text, err := os.ReadFile(filepath.Join(root(t), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		require.NoError(t, err)
		for _, name := range page.FindAllString(string(text), -1) {
			require.FileExists(t, filepath.Join(root(t), name), "%s names it", file)
			seen++
		}
	}
	require.Greater(t, seen, 40)
}

// TestEachPageBeginsWithItsUse reads the first line below the title. Pages of docs/reference are generated.
func TestEachPageBeginsWithItsUse(t *testing.T) {
	for file, text := range pages(t, "docs/concepts.md", "docs/start/*.md", "docs/guides/*.md", "docs/moving/*.md", "docs/operations/*.md",
		"docs/troubleshooting/*.md", "docs/explanation/*.md", "docs/explanation/bench/*.md") {
		require.Regexp(t, "^# .+\n\n(After|With) this page you (can|know) ", text, "%s: say what its reader can do afterwards", file)
	}
}

// TestEachListFollowsABlankLine looks for lists that the site would show as part of the paragraph before them: the
// generator needs a blank line before them, or a heading.
func TestEachListFollowsABlankLine(t *testing.T) {
	item, before := regexp.MustCompile(`^([-*]|\d+\.) `), regexp.MustCompile(`^([-*] |\d+\. |  |#|<!--|$)`)
	for file, text := range pages(t, "docs/*.md", "docs/*/*.md", "docs/*/*/*.md") {
		code, previous := false, ""
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if !code && item.MatchString(line) {
				require.Regexp(t, before, previous, "%s:%d", file, i+1)
			}
			previous = line
		}
	}
}

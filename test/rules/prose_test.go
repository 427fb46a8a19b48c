package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sentences are examples for one rule of .vale/styles/Muster. The rule finds each bad one, and no rule finds
// anything in a good one.
type sentences struct {
	bad, good []string
	code      bool // only in comments, not on pages
}

// prose has sentences for each rule, by its name.
func prose() map[string]sentences {
	long := "the launcher " + strings.Repeat("asks each worker ", 9) + "once" // exactly 30 words
	return map[string]sentences{
		"SentenceLength": {
			bad:  []string{"Again " + long + ".", "Again " + long + ":", "(Again " + long + ".)", "One. Again " + long + ".\nOne."},
			good: []string{long + ".", "One. " + long + ". One.", "Again " + long, "Run this:\n\n\t" + long + " one two three.\n\nOne."},
		},
		"Spelling": {
			bad:  []string{"The colour is red.", "Unlabelled pods stay.", "It recognises the job.", "Dialling takes a second.", "The centre is grey."},
			good: []string{"The color is red.", "Unlabeled pods stay.", "It recognizes the job.", "Dialing takes a second.", "The promise of a precise exercise.", "Labels are controlled, and rolled back."},
		},
		"Restart": {
			bad:  []string{"The job begins again.", "The pods start again.", "Then the group is started anew."},
			good: []string{"The job restarts.", "The test of --again starts. Again it passes.", "anew is the name of a function."},
		},
		"Report": {
			bad:  []string{"fit tells whether it fits.", "The answer says if it is ready.", "The kernel tells how it ended."},
			good: []string{"fit reports whether it fits.", "The kernel cannot tell whether it ended.", "It tells the worker.", "It says why."},
		},
		"Stand": {
			bad:  []string{"The name stands in the file.", "A word that stands before it.", "What stood there is lost."},
			good: []string{"The name is in the file.", "W stands for a worker.", "One pod stands in for a node.", "Roles stand alone."},
		},
		"Plain": {
			bad:  []string{"Whoever calls it waits.", "It waits, lest it lose data.", "Any number, be it a float.", "It runs all the same.", "Two workers will do.", "It says what becomes of a field."},
			good: []string{"The caller waits.", "The last one.", "It may be it.", "The values are all the same.", "The command will do this.", "It becomes a field."},
		},
		"Glossary": {
			bad:  []string{"The worker is gone.", "It resumes the link.", "A child rank ends."},
			good: []string{"The worker is lost.", "It resumes the session.", "The file is gone.", "A child of the rank ends."},
		},
		"Openings": {
			bad:  []string{"Who holds it opens a socket.", "Those that run are asked.", "Else it waits.", "It waits. The one that\nends is named."},
			good: []string{"Its holder opens a socket.", "The workers that run are asked.", "Otherwise it waits.", "# Who owns what", "Who is it for?"},
		},
		"DocComment": {
			bad:  []string{"mostWorkers: the limit of a job.", "TestFoo: it waits."},
			good: []string{"mostWorkers is the limit of a job.", "nil: no limit", "Guarantees: it is pure."},
			code: true,
		},
	}
}

// TestEachProseRuleFindsBadSentences runs vale once, on a file for each sentence.
func TestEachProseRuleFindsBadSentences(t *testing.T) {
	rules, err := filepath.Glob(filepath.Join(root(t), ".vale/styles/Muster/*.yml"))
	require.NoError(t, err)
	require.Len(t, prose(), len(rules), "prose has sentences for each rule")

	dir := t.TempDir()
	for rule, of := range prose() {
		require.Contains(t, rules, filepath.Join(root(t), ".vale/styles/Muster", rule+".yml"))
		of.write(t, filepath.Join(dir, "bad", rule), of.bad)
		of.write(t, filepath.Join(dir, "good", rule), of.good)
	}
	found := vale(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for _, file := range files {
		rule := filepath.Base(filepath.Dir(file))
		if strings.HasPrefix(file, filepath.Join(dir, "bad")) {
			require.Contains(t, found[file], "Muster."+rule, file)
		} else {
			require.Empty(t, found[file], file)
		}
	}
}

// write makes files in dir: a Go file with each sentence as a comment, and a page unless code is set. The string
// in the code is not prose.
func (s sentences) write(t *testing.T, dir string, all []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for i, one := range all {
		texts := map[string]string{"go": "package rules\n\n// " + strings.ReplaceAll(one, "\n", "\n// ") + "\nconst mostWorkers = \"lest it be grey.\"\n"}
		if !s.code {
			texts["md"] = one + "\n"
		}
		for ext, text := range texts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.%s", i, ext)), []byte(text), 0o600))
		}
	}
}

// vale returns the rules that found something, by file.
func vale(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "tool", "-modfile="+filepath.Join(root(t), "test/lab/lint/vale/go.mod"), "vale",
		"--config="+filepath.Join(root(t), ".vale.ini"), "--output=JSON", dir).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("vale: %v: %s", err, out)
	}
	var alerts map[string][]struct{ Check string }
	require.NoError(t, json.Unmarshal(out, &alerts))
	found := map[string][]string{}
	for file, all := range alerts {
		for _, one := range all {
			found[file] = append(found[file], one.Check)
		}
	}
	return found
}

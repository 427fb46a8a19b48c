package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/messages"
)

// TestMessagesAreExplained finds errors and warnings without an entry in docs/troubleshooting, and entries
// whose message no longer exists. `go run ./test/suite messages` lists both.
func TestMessagesAreExplained(t *testing.T) {
	all, err := messages.Collect(root(t))
	require.NoError(t, err)
	require.Greater(t, len(all), 500)
	catalog, err := messages.Catalog(filepath.Join(root(t), "docs/troubleshooting"))
	require.NoError(t, err)
	missing, stale := messages.Compare(all, catalog)
	require.Empty(t, missing, "messages without an entry")
	require.Empty(t, stale, "entries without a message")
	for _, e := range catalog {
		require.Contains(t, e.Text, "**What to do:** ", "%s (%s)", e.At, e.Title)
		cause, _, _ := strings.Cut(e.Text, "**What to do:**")
		require.NotEmpty(t, strings.TrimSpace(cause), "%s (%s) names no cause", e.At, e.Title)
	}
}

// TestMessagesArePlain holds the messages to the rules of prose that comments and pages keep.
func TestMessagesArePlain(t *testing.T) {
	all, err := messages.Collect(root(t))
	require.NoError(t, err)
	dir := t.TempDir()
	for i, m := range all {
		if m.Optional {
			continue
		}
		text := strings.NewReplacer("<", "&lt;", "*", "&#42;").Replace(m.Text)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.md", i)), []byte(text+"\n"), 0o600))
	}
	for file, rules := range vale(t, dir) {
		var i int
		_, err := fmt.Sscanf(filepath.Base(file), "%d.md", &i)
		require.NoError(t, err)
		t.Errorf("%s: %s: %s", all[i].At, rules, all[i].Text)
	}
}

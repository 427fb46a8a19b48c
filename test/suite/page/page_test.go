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

package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColored(t *testing.T) {
	for _, row := range []struct {
		when, environ  string
		terminal, want bool
	}{
		{"auto", "", true, true},
		{"auto", "", false, false},
		{"", "", true, true},
		{"auto", "NO_COLOR=1", true, false},
		{"auto", "TERM=dumb", true, false},
		{"auto", "CLICOLOR=0", true, false},
		{"auto", "CLICOLOR=1", true, true},
		{"auto", "CLICOLOR=1", false, false},
		{"auto", "CLICOLOR_FORCE=1", false, true},
		{"auto", "CLICOLOR_FORCE=0", false, false},
		{"auto", "CLICOLOR_FORCE=1 NO_COLOR=1", true, false},
		{"auto", "CLICOLOR_FORCE=1 TERM=dumb", false, true},
		{"always", "NO_COLOR=1", false, true},
		{"never", "CLICOLOR_FORCE=1", true, false},
	} {
		getenv := func(name string) string {
			for _, kv := range strings.Fields(row.environ) {
				if key, value, _ := strings.Cut(kv, "="); key == name {
					return value
				}
			}
			return ""
		}
		require.Equal(t, row.want, Colored(row.when, row.terminal, getenv), "%+v", row)
	}
}

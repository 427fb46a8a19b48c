package reference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/check"
)

// TestEveryCheckIsListed checks that the page has each check of the table once.
func TestEveryCheckIsListed(t *testing.T) {
	var page strings.Builder
	for _, p := range parts("../../..") {
		if p.page == "docs/reference/doctor.md" {
			text, err := p.body()
			require.NoError(t, err)
			page.WriteString(text)
		}
	}
	for _, c := range check.Table() {
		require.Equal(t, 1, strings.Count(page.String(), "| `"+c.Name+"` | "), c.Name)
	}
	_, err := Checks("nothing")
	require.Error(t, err)
}

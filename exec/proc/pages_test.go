//go:build linux

package proc

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resident returns the resident memory of this process in KiB that belongs to files: its program.
func resident(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			require.NoError(t, err)
			return kib
		}
	}
	t.Fatal("no RssFile in /proc/self/status")
	return 0
}

func TestReleasePages(t *testing.T) {
	_ = resident(t) // its own pages are in memory
	before := resident(t)
	ReleasePages()
	after := resident(t)
	require.Less(t, after, before*3/4, "KiB after and before")
}

package nightly

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNightContinuesWhereItStopped(t *testing.T) {
	var played []string
	bad := errors.New("exit status 2")
	breaks := map[string]error{"fake": bad}
	var out bytes.Buffer
	night := Night{Dir: filepath.Join(t.TempDir(), "nightly"), Commit: "c1", Suites: []string{"unit", "fake", "e2e"}, Out: &out,
		Play: func(suite string, log io.Writer) error {
			played = append(played, suite)
			fmt.Fprintln(log, "log of", suite)
			return breaks[suite]
		}}
	require.EqualError(t, night.Run(), "failed: fake")
	require.Equal(t, []string{"unit", "fake", "e2e"}, played, "a failure must not end the night")
	require.Contains(t, out.String(), "FAILED (exit status 2), see "+night.Dir+"/fake.log")
	log, err := os.ReadFile(filepath.Join(night.Dir, "e2e.log"))
	require.NoError(t, err)
	require.Equal(t, "log of e2e\n", string(log))

	played, breaks = nil, nil
	require.NoError(t, night.Run())
	require.Equal(t, []string{"fake"}, played)
	page, err := os.ReadFile(filepath.Join(night.Dir, "summary.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "# Suites on c1\n")
	require.Contains(t, string(page), "3 of 3 suites")
	require.NotContains(t, string(page), "failed")

	played, night.Commit = nil, "c2"
	require.NoError(t, night.Run())
	require.Len(t, played, 3, "no suite has passed on another commit")
}

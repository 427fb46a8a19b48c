package proc

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewest(t *testing.T) {
	dir := t.TempDir()
	early, late := time.Unix(1_700_000_000, 5), time.Unix(1_700_000_000, 6)
	for name, at := range map[string]time.Time{"ck/1.pt": late, "ck/2.pt": early, "ck/log": time.Now()} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "ck/3.pt")))
	for glob, want := range map[string]time.Time{
		"ck/*.pt": late, "ck/2.pt": early, filepath.Join(dir, "*/*.pt"): late,
		"ck/*.bin": {}, "none/*.pt": {}, "n*e/*.pt": {}, "ck/3.pt": {},
	} {
		at, err := Newest(dir, glob)
		require.NoError(t, err, glob)
		require.True(t, at.Equal(want), "%s: %s", glob, at)
	}
}

// TestNewestIsUnknown checks that a place that cannot be read is not taken for an empty one.
func TestNewestIsUnknown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, glob := range []string{"[", "file/*.pt", "file/1.pt"} {
		_, err := Newest(dir, glob)
		require.Error(t, err, glob)
	}
}

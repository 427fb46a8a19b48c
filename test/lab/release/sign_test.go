package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("cosign.key", nil, 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	for name, row := range map[string]struct{ key, want string }{
		"none":             {"", ""},
		"a file":           {"cosign.key", filepath.Join(here, "cosign.key")},
		"a variable":       {"env://COSIGN_KEY", "env://COSIGN_KEY"},
		"of a key service": {"awskms:///alias/x", "awskms:///alias/x"},
	} {
		s, err := newSigner(row.key, "dist")
		require.NoError(t, err, name)
		require.Equal(t, row.want, s.key, name)
	}
	_, err = newSigner("missing.key", "dist")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "KEY: ")
}

//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rows on fake workers leave Python's cache beside the scripts.
func TestConfigMapHoldsTheScriptsAlone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.py"), []byte("pass\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "__pycache__"), 0o700))
	m, err := cluster{scripts: dir}.configMap()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.py": "pass\n"}, m.(corev1.ConfigMap).Data)
}

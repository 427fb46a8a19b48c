//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoGPU(t *testing.T) {
	require.False(t, NoGPU(filepath.Join(t.TempDir(), "none")), "an unreadable directory proves nothing")
	dev := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dev, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	file("null")
	file("ptmx")
	require.NoError(t, os.Mkdir(filepath.Join(dev, "dri"), 0o700))
	require.True(t, NoGPU(dev))
	for _, name := range []string{"nvidia0", "nvidiactl", "kfd", "accel0", "davinci1", "neuron0", "dxg"} {
		path := file(name)
		require.False(t, NoGPU(dev), name)
		require.NoError(t, os.Remove(path))
	}
	require.True(t, NoGPU(dev))
}

func TestNoRDMA(t *testing.T) {
	require.False(t, NoRDMA(filepath.Join(t.TempDir(), "none")), "an unreadable directory proves nothing")
	class := t.TempDir()
	require.True(t, NoRDMA(class))
	require.NoError(t, os.Mkdir(filepath.Join(class, "infiniband"), 0o700))
	require.True(t, NoRDMA(class))
	require.NoError(t, os.Mkdir(filepath.Join(class, "infiniband", "mlx5_0"), 0o700))
	require.False(t, NoRDMA(class))
}

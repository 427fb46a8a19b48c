//go:build linux

package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name      string
		env, want []string
		temp      string
	}{
		{"all there", []string{"HOME=/h", "MUSTER_WORKER=w-1", "A=b"}, nil, ""},
		{"no home", []string{"MUSTER_WORKER=w-1"}, []string{"HOME=/dir"}, ""},
		{"empty home", []string{"HOME=", "MUSTER_WORKER=w-1"}, []string{"HOME=/dir"}, ""},
		{"pod name", []string{"HOME=/h", "MUSTER_POD_NAME=pi-worker-3"}, []string{"MUSTER_WORKER=pi-worker-3"}, ""},
		{"no /tmp", []string{"HOME=/h", "MUSTER_WORKER=w-1"}, []string{"TMPDIR=/dir/tmp"}, "/dir/tmp"},
		{"TMPDIR of one's own", []string{"HOME=/h", "TMPDIR=/t", "MUSTER_WORKER=w-1"}, nil, "/dir/tmp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.env)
			require.Equal(t, append(slices.Clone(c.env), c.want...), Environment(c.env, "/dir", c.temp))
			require.Equal(t, before, c.env)
		})
	}
}

func TestLinkKubexec(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc", "kubexec.sh")
	linkKubexec(path)
	self, err := os.Executable()
	require.NoError(t, err)
	target, err := os.Readlink(path)
	require.NoError(t, err)
	require.Equal(t, self, target)

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("the image's own"), 0o755))
	linkKubexec(path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "the image's own", string(text))
}

//go:build linux

package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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
		{"nothing missing", []string{"HOME=/h", "MUSTER_WORKER=w-1", "A=b"}, nil, ""},
		{"no home", []string{"MUSTER_WORKER=w-1"}, []string{"HOME=/dir"}, ""},
		{"empty home", []string{"HOME=", "MUSTER_WORKER=w-1"}, []string{"HOME=/dir"}, ""},
		{"pod name", []string{"HOME=/h", "MUSTER_POD_NAME=pi-worker-3"}, []string{"MUSTER_WORKER=pi-worker-3"}, ""},
		{"no /tmp", []string{"HOME=/h", "MUSTER_WORKER=w-1"}, []string{"TMPDIR=/dir/tmp"}, "/dir/tmp"},
		{"the user's TMPDIR", []string{"HOME=/h", "TMPDIR=/t", "MUSTER_WORKER=w-1"}, nil, "/dir/tmp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.env)
			require.Equal(t, append(slices.Clone(c.env), c.want...), Environment(c.env, "/dir", c.temp))
			require.Equal(t, before, c.env)
		})
	}
}

// TestGrace covers an old launcher, which reports no grace period, and a current launcher, which
// may not know the grace period.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		given                  bool
		launcher, period, want time.Duration
	}{
		{false, 0, 0, 25}, {false, 0, 90, 85}, {false, 40, 90, 40}, {false, 40, 0, 40},
		{true, 0, 90, 25}, {true, 40, 90, 40}, {true, 0, 20, 16}, {true, 12, 20, 12}, {true, 0, 25, 25},
	} {
		cfg := Config{Grace: 25 * time.Second, GraceGiven: c.given}
		require.Equal(t, c.want*time.Second, cfg.grace(c.launcher*time.Second, c.period*time.Second), "%+v", c)
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

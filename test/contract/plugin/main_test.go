package plugin

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/exec/reap"
)

// TestMain is a plugin when it is called by the name of one: what runs is a copy
// of this program.
func TestMain(m *testing.M) {
	if run, ok := modes[filepath.Base(os.Args[0])]; ok {
		run()
		os.Exit(0)
	}
	if err := reap.Subreaper(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// lab is a reaper, a directory for the plugin's file and one for its socket.
type lab struct {
	reaper   *reap.Reaper
	bin, dir string
	log      *slog.Logger
}

func newLab(t *testing.T) *lab {
	l := &lab{reaper: reap.New(), bin: t.TempDir(), log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	// A socket's path has 107 bytes: t.TempDir's own would not do.
	dir, err := os.MkdirTemp("", "p")
	require.NoError(t, err)
	l.dir = dir
	require.NoError(t, os.Chmod(l.bin, 0o755))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.reaper.Run(ctx) }()
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(l.dir, "*"))
		require.NoError(t, err)
		require.Empty(t, left, "files left in the private directory")
		require.Zero(t, l.reaper.Running(), "processes left")
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, os.RemoveAll(l.dir))
	})
	return l
}

// self is this program and its sum.
var self = sync.OnceValues(func() (string, [sha256.Size]byte) {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return path, sha256.Sum256(text)
})

// mode puts the plugin of that name into the lab's directory.
func (l *lab) mode(t *testing.T, name string) external.Config {
	from, sum := self()
	path := filepath.Join(l.bin, name)
	if os.Link(from, path) != nil { // another file system
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o755))
	}
	return l.config(path, sum)
}

func (l *lab) config(path string, sum [sha256.Size]byte) external.Config {
	return external.Config{Program: external.Program{Name: "p", Path: path, Sum: sum},
		Dir: l.dir, Starter: launch.NewStarter(l.reaper), Log: l.log, Patience: 30 * time.Second}
}

// sample is the sample plugin, built once.
var sample = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sample")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "nodelist")
	out, err := exec.Command("go", "build", "-o", path, "../../../agent/framework/plugin/sample").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

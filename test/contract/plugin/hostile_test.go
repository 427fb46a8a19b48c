package plugin

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/framework/plugin"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/exec/reap"
)

// modes are the plugins that this program can be, by program name. A plugin gets no environment and no argument
// that could select its mode.
var modes = map[string]func(){
	"good":            func() { plugin.Serve(answer(func(l *framework.Launch) {})) },
	"hangs-at-start":  forever,
	"deaf-at-start":   func() { ignoreTERM(); forever() },
	"hangs-in-answer": func() { plugin.Serve(hanging{}) },
	"garbage":         func() { fmt.Println("\x1b[31mhello, world"); forever() },
	"garbage-flood":   func() { flood(os.Stdout, 100<<20); forever() },
	"half-a-line":     func() { fmt.Print("1|1|unix"); forever() },
	"other-cookie":    func() { served("OTHER_COOKIE", 1) },
	"other-protocol":  func() { served("MUSTER_PLUGIN_COOKIE", 2) },
	"elsewhere":       func() { fmt.Println("1|1|unix|/tmp/other.sock|grpc|"); forever() },
	"on-tcp":          func() { fmt.Println("1|1|tcp|198.18.0.1:80|grpc|"); forever() },
	"no-certificate":  func() { fmt.Println("1|1|unix|" + os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/x|grpc|"); forever() },
	"exits-early":     func() { fmt.Fprintln(os.Stderr, "first\nno licence\x07 found"); os.Exit(3) },
	"exits-in-answer": func() { plugin.Serve(exiting{}) },
	"panics":          func() { plugin.Serve(answer(func(*framework.Launch) { panic("no such\nthing") })) },
	"floods-stderr":   func() { flood(os.Stderr, 100<<20); plugin.Serve(answer(func(*framework.Launch) {})) },
	"floods-and-dies": func() { flood(os.Stderr, 100<<20); fmt.Fprintln(os.Stderr, "\nthe end"); os.Exit(4) },
	"talks-in-answer": func() { plugin.Serve(talking{}) },
	"has-children":    func() { daemons(); plugin.Serve(answer(func(*framework.Launch) {})) },
	"dies-with-child": func() { daemons(); os.Exit(5) },
	"rank-twice":      func() { plugin.Serve(answer(func(l *framework.Launch) { l.Processes[1].Rank = 0 })) },
	"worker-99":       func() { plugin.Serve(answer(func(l *framework.Launch) { l.Processes[1].Worker = 99 })) },
	"file-slash": func() {
		plugin.Serve(answer(func(l *framework.Launch) { l.Files = []framework.File{{Name: "../../etc/profile"}} }))
	},
	"name-equals": func() {
		plugin.Serve(answer(func(l *framework.Launch) { l.Processes[0].Env = []framework.Var{{Name: "A=B", Why: "x"}} }))
	},
	"too-large": func() {
		plugin.Serve(answer(func(l *framework.Launch) {
			l.Warnings = []string{strings.Repeat("x", 33<<20)}
		}))
	},
	"spies": func() {
		plugin.Serve(answer(func(l *framework.Launch) { l.Warnings = append(os.Environ(), os.Args...) }))
	},
}

func forever() { select {} }

// answer is a framework that starts the command on every worker, and then calls the function to change the launch.
type answer func(*framework.Launch)

func (a answer) Prepare(c framework.Cluster) (framework.Launch, error) {
	var l framework.Launch
	for i := range c.Workers {
		l.Processes = append(l.Processes, framework.Process{Worker: i, Rank: i, Role: "worker", Index: i, Argv: c.Command})
	}
	l.Env = nil
	a(&l)
	return l, nil
}

type hanging struct{}

func (hanging) Prepare(framework.Cluster) (framework.Launch, error) {
	forever()
	return framework.Launch{}, nil
}

// talking writes more than pipes hold while it answers.
type talking struct{}

func (talking) Prepare(framework.Cluster) (framework.Launch, error) {
	flood(os.Stderr, 1<<20)
	flood(os.Stdout, 1<<20)
	return framework.Launch{}, fmt.Errorf("said it all")
}

type exiting struct{}

func (exiting) Prepare(framework.Cluster) (framework.Launch, error) {
	fmt.Fprintln(os.Stderr, "I am out")
	os.Exit(6)
	return framework.Launch{}, nil
}

// served serves a go-plugin plugin with another cookie or protocol version.
func served(cookie string, version uint) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: version, MagicCookieKey: cookie, MagicCookieValue: "framework"},
		Plugins:         goplugin.PluginSet{"x": &empty{}},
		GRPCServer:      goplugin.DefaultGRPCServer,
	})
}

type empty struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*empty) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }
func (*empty) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// flood writes size bytes without a newline.
func flood(f *os.File, size int) {
	w := bufio.NewWriterSize(f, 1<<16)
	for text := strings.Repeat("x", 1<<16); size > 0; size -= len(text) {
		_, _ = w.WriteString(text)
	}
	_ = w.Flush()
}

// daemons starts two processes that inherit all descriptors. One of them has a session of its own.
func daemons() {
	for _, line := range []string{"sleep 1000", "setsid -f sleep 1000"} {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
	}
}

func TestEveryModeIsTested(t *testing.T) {
	for name := range modes {
		if _, ok := hostile[name]; !ok && name != "good" && name != "spies" && name != "has-children" && name != "floods-stderr" {
			t.Errorf("no test runs the mode %s", name)
		}
	}
}

func ignoreTERM() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

// TestMain runs a plugin if the program has the name of a mode: plugins are copies of this program.
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

// lab is a reaper, a directory for the plugin's file, and a directory for its socket.
type lab struct {
	reaper   *reap.Reaper
	bin, dir string
	log      *slog.Logger
}

func newLab(t *testing.T) *lab {
	l := &lab{reaper: reap.New(), bin: t.TempDir(), log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	// A socket's path has at most 107 bytes, and t.TempDir's paths can be too long.
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

// self returns the path of this program and its SHA-256 sum.
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

// mode puts the plugin with that name into the lab's directory.
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
		Dir: l.dir, Starter: command.NewStarter(l.reaper), Log: l.log, Patience: 30 * time.Second}
}

// sample returns the path of the sample plugin, which is built once.
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

// TestLauncherLinksNoPluginPackages checks that agent-launcher does not link the packages that talk to plugins.
// They would be initialized at every start. Only agent-launcher-plugins links them.
func TestLauncherLinksNoPluginPackages(t *testing.T) {
	for tags, there := range map[string]bool{"grpcnotrace": false, "grpcnotrace,plugins": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tags, "../../../cmd/launcher")
		cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err)
		for _, lib := range []string{"github.com/hashicorp/go-plugin", "google.golang.org/grpc", "google.golang.org/protobuf/proto", "net/rpc"} {
			require.Equal(t, there, strings.Contains(string(out), "\n"+lib+"\n"), "%s with tags %s", lib, tags)
		}
	}
}

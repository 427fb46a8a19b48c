//go:build linux

package pid1

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/musterhq/muster/test/suite/figure"
)

// agent is the path of the built binary.
var agent string

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		fmt.Fprintln(os.Stderr, "test/pid1:", become(role))
		os.Exit(99)
	}
	code, err := prepared(m)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/pid1:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (code int, err error) {
	if os.Getuid() != 0 {
		return 1, errors.New("these tests make PID namespaces and other users' processes: run them as root")
	}
	dir, err := os.MkdirTemp("", "pid1")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Other users execute it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	root, err := figure.Root()
	if err != nil {
		return 1, err
	}
	agent = filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-o", agent, "./cmd/agent")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if os.Getenv(raceEnv) != "" {
		cmd.Args = append(cmd.Args[:2:2], "-race", "-o", agent, "./cmd/agent")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build agent: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// raceEnv asks for an agent with the race detector.
const raceEnv = "PID1_TEST_RACE"

// roleEnv says what this program becomes in a namespace of its own.
const roleEnv = "PID1_TEST_ROLE"

// become prepares the namespace and executes what the role is. It returns only
// when that failed.
func become(role string) error {
	runtime.LockOSThread() // what follows is the thread's
	if err := os.Unsetenv(roleEnv); err != nil {
		return err
	}
	if role != "dial" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			return err
		}
	}
	path := os.Getenv("AGENT")
	argv := append([]string{path, "worker"}, os.Args[1:]...)
	switch role {
	case "init", "join":
		if role == "join" {
			argv[1] = "join"
		}
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		if err := changeUser(); err != nil {
			return err
		}
		return syscall.Exec(path, argv, os.Environ())
	case "pause":
		// A pod's PID 1 with shareProcessNamespace, somebody else's process, and
		// the worker; it collects what comes to it.
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		script := `setsid sleep 1001 & "$AGENT" "$@" & wait $!; echo "worker ended $?"; while :; do sleep 1; done`
		return syscall.Exec("/bin/sh", append([]string{"sh", "-c", script, "pause"}, argv[1:]...), os.Environ())
	case "restricted":
		return restricted(argv[1:])
	case "dial":
		return dial(os.Args[1], int64(len(os.Args)))
	}
	return errors.New("no role " + role)
}

// userEnv is the uid to become before the agent is executed.
const userEnv = "PID1_TEST_USER"

func changeUser() error {
	uid, err := strconv.Atoi(os.Getenv(userEnv))
	if err != nil {
		return nil // not asked for
	}
	return errors.Join(os.Unsetenv(userEnv), syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid))
}

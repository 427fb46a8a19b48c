//go:build mpi

package fake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/suite/proc"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// dying and deaf write 300 kB to descriptor FD in the cells of TestUnwritable. dying ends when a write fails, as
// most programs do. deaf ignores errors.
const (
	dying = `A=$(head -c 1000 /dev/zero | tr "\0" a); sleep 0.2; i=0; while [ $i -lt 300 ]; do echo $A >&FD || exit 1; i=$((i+1)); done; for e in 1 2 3; do sleep 0.1; echo end >&FD; done`
	deaf  = `trap "" PIPE; A=$(head -c 1000 /dev/zero | tr "\0" a); sleep 0.2; i=0; while [ $i -lt 300 ]; do echo $A >&FD; i=$((i+1)); done; exit 0`
)

// carrier is a command that forwards output, with the exit codes of its cells.
type carrier struct {
	name    string
	argv    []string
	program string
	piped   int  // exit code with a closed pipe on stdout
	own     bool // the process has our descriptors and prints its own errors: join
}

func carriers() []carrier {
	rsh := []string{"agent", "run", "-q", "--fake=1", "--", "agent", "rsh", "127.0.0.2"}
	list := []carrier{
		{"plain", []string{"agent", "run", "--fake=2", "--framework=plain", "--max-restarts=2", "--", "sh", "-c"}, dying, 141, false},
		{"plain, ignores SIGPIPE", []string{"agent", "run", "--fake=2", "--framework=plain", "--", "sh", "-c"}, deaf, 141, false},
		{"command", []string{"agent", "run", "--fake=1", "--", "sh", "-c"}, dying, 141, false},
		{"rsh", rsh, dying, 141, false},
		{"rsh, ignores SIGPIPE", rsh, deaf, 0, false}, // like ssh, it does not report a reader that has disconnected
		{"join", []string{"agent", "join", "--workers=1", "--", "sh", "-c"}, dying, 141, true},
	}
	for _, f := range families {
		list = append(list, carrier{f.name, []string{"agent", "run", "--fake=2", "--", f.mpirun, "-np", "2", "sh", "-c"}, dying, 141, false})
	}
	return list
}

// TestUnwritable runs each carrier with each kind of unwritable stdout and stderr. The carrier exits with a code
// other than 0. If a descriptor is left, it reports the cause there. No rank is blamed because the write failed. A
// closed descriptor is /dev/null to a Go program, and to the programs that it starts.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t)
			for _, place := range []string{"full device", "full disk", "closed pipe", "closed descriptor"} {
				if place == "full disk" && disk == "" {
					continue // only root can create one
				}
				for fd := 1; fd <= 2; fd++ {
					t.Run(fmt.Sprintf("%s/%d", place, fd), func(t *testing.T) {
						code, said := c.run(t, place, disk, fd)
						c.judge(t, place, fd, code, said)
					})
				}
			}
		})
	}
}

// run runs the cell. said is the output on the other descriptor.
func (c carrier) run(t *testing.T, place, disk string, fd int) (code int, said string) {
	argv := append([]string{filepath.Join(bin, c.argv[0])}, c.argv[1:]...)
	argv = append(argv, strings.ReplaceAll(c.program, "FD", fmt.Sprint(fd)))
	if place == "closed descriptor" {
		argv = append([]string{"sh", "-c", fmt.Sprintf(`exec "$@" %d>&-`, fd), "sh"}, argv...)
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(proc.Environment(bin, "FAKE_TEST"), "PATH="+bin+":"+os.Getenv("PATH"), "MUSTER_DIR="+shortDir(t))
	var other bytes.Buffer
	cmd.Stdout, cmd.Stderr = &other, &other
	where := &cmd.Stdout
	if fd == 2 {
		where = &cmd.Stderr
	}
	switch place {
	case "closed descriptor":
		*where = nil
	case "closed pipe":
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		defer w.Close()
		*where = w
	default:
		path := "/dev/full"
		if place == "full disk" {
			path = filepath.Join(disk, "output")
			defer os.Remove(path)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		defer f.Close()
		*where = f
	}
	_ = cmd.Run() // the exit code is checked later
	return cmd.ProcessState.ExitCode(), other.String()
}

func (c carrier) judge(t *testing.T, place string, fd, code int, said string) {
	t.Logf("exit code %d, output %.200q", code, said)
	cause := "no space left on device"
	switch {
	case place == "closed descriptor":
		require.Zero(t, code, said)
		return
	case c.own, fd == 2 && !strings.HasPrefix(c.name, "rsh"):
		require.NotZero(t, code, said)
		return
	case place == "closed pipe":
		require.Equal(t, c.piped, code, said)
		cause = "broken pipe"
	default:
		require.Equal(t, 74, code, said)
	}
	if fd == 1 && !strings.HasPrefix(c.name, "rsh") {
		require.Contains(t, said, cause)
	}
	require.NotRegexp(t, `agent: .*(rank \d|SIGPIPE)`, said)
}

// smallDisk returns the mount point of a file system of 64 KiB, or "" if this user may not mount one.
func smallDisk(t *testing.T) string {
	dir := shortDir(t) // messages contain it, so it must not have the name of the test
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("no small disk: %v", err)
		return ""
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// TestFullDisk fills the disk behind a path that a flag takes. The error names the file and the cause, and the run
// exits with 74. If the run had failed already, it keeps that code.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	if disk == "" {
		return // only root can create one; the scripts of cmd/launcher test /dev/full
	}
	fill, err := os.Create(filepath.Join(disk, "fill"))
	require.NoError(t, err)
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	require.NoError(t, fill.Close())
	for flag, command := range map[string][]string{
		"--output=dir=":   {"--framework=plain", "--", "sh", "-c", "echo one; sleep 0.2; exit 0"},
		"--report=":       {"--", "true"},
		"--hostfile=":     {"--", "true"},
		"--metrics-file=": {"--metric", "loss", "--", "echo", "loss=1"},
	} {
		t.Run(flag, func(t *testing.T) {
			path := filepath.Join(disk, strings.Trim(flag, "-="))
			o := run(t, call{argv: append([]string{"agent", "run", "--fake=1", flag + path}, command...)})
			o.wants(t, 74)
			require.Contains(t, o.err, path)
			require.Contains(t, o.err, "no space left on device")
		})
	}
}

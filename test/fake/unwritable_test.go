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

// What writes 300 kB to descriptor FD in the cells of TestUnwritable. One dies of a
// write that fails, as most programs do, the other does not look.
const (
	dying = `A=$(head -c 1000 /dev/zero | tr "\0" a); sleep 0.2; i=0; while [ $i -lt 300 ]; do echo $A >&FD || exit 1; i=$((i+1)); done; for e in 1 2 3; do sleep 0.1; echo end >&FD; done`
	deaf  = `trap "" PIPE; A=$(head -c 1000 /dev/zero | tr "\0" a); sleep 0.2; i=0; while [ $i -lt 300 ]; do echo $A >&FD; i=$((i+1)); done; exit 0`
)

// carrier is something that carries output, with the exit codes of its cells.
type carrier struct {
	name    string
	argv    []string
	program string
	piped   int  // with a closed pipe on stdout
	own     bool // the process has our descriptors and speaks for itself: join
}

func carriers() []carrier {
	rsh := []string{"agent", "run", "-q", "--fake=1", "--", "agent", "rsh", "127.0.0.2"}
	list := []carrier{
		{"plain", []string{"agent", "run", "--fake=2", "--framework=plain", "--max-restarts=2", "--", "sh", "-c"}, dying, 141, false},
		{"plain, deaf", []string{"agent", "run", "--fake=2", "--framework=plain", "--", "sh", "-c"}, deaf, 141, false},
		{"command", []string{"agent", "run", "--fake=1", "--", "sh", "-c"}, dying, 141, false},
		{"rsh", rsh, dying, 141, false},
		{"rsh, deaf", rsh, deaf, 0, false}, // ssh says no more of a reader that has gone
		{"join", []string{"agent", "join", "--workers=1", "--", "sh", "-c"}, dying, 141, true},
	}
	for _, f := range families {
		list = append(list, carrier{f.name, []string{"agent", "run", "--fake=2", "--", f.mpirun, "-np", "2", "sh", "-c"}, dying, 141, false})
	}
	return list
}

// TestUnwritable runs what carries output with each place that takes none, on stdout
// and on stderr. It ends with a code other than 0, and names the cause where a
// descriptor is left for that; nobody is blamed for dying of it. A closed descriptor
// is /dev/null to a Go program, and to what it starts.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t)
			for _, place := range []string{"full device", "full disk", "closed pipe", "closed descriptor"} {
				if place == "full disk" && disk == "" {
					continue // only root can make one
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

// run runs the cell; said is what came on the other descriptor.
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
	_ = cmd.Run() // its code is looked at
	return cmd.ProcessState.ExitCode(), other.String()
}

func (c carrier) judge(t *testing.T, place string, fd, code int, said string) {
	t.Logf("exit code %d, said %.200q", code, said)
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

// smallDisk is the mount of a file system of 64 KiB; "": we may make none.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("no small disk: %v", err)
		return ""
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// A full disk behind a path that a flag takes: the file and the cause are named, the
// run ends with 74, and what ended before keeps its code.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	if disk == "" {
		return // only root can make one; the scripts of cmd/launcher have /dev/full
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

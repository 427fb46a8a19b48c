//go:build linux

package reap

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestAFileThatHangsDelaysOnlyItsStart checks a start whose program cannot be opened for now. Another
// process is signaled and collected meanwhile, and the garbage collector runs. A lease of the file
// (fcntl(2)) takes the place of a file system that does not answer: each open waits for its end.
func TestAFileThatHangsDelaysOnlyItsStart(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "true"), program, 0o755))
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#! "+filepath.Join(dir, "true")+" -x\n"), 0o755))
	loaded, loader := withLoader(t, dir)
	for name, s := range map[string]Spec{
		"loader":           {Path: loaded},
		"program":          {Path: filepath.Join(dir, "true")},
		"relative program": {Path: "./true", Dir: dir},
		"interpreter":      {Path: script},
	} {
		t.Run(name, func(t *testing.T) {
			r := running(t)
			other, err := r.Start(Spec{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}})
			require.NoError(t, err)
			hangs := filepath.Join(dir, "true")
			if s.Path == loaded {
				hangs = loader
			}
			fd, err := unix.Open(hangs, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(fd)
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
				t.Skipf("no leases here: %v", err)
			}
			var delayed *Process
			started := make(chan error, 1)
			go func() {
				var err error
				delayed, err = r.Start(s)
				started <- err
			}()
			waitFor(t, "an open of the program", func() bool {
				lease, err := unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
				return err == nil && lease != unix.F_WRLCK
			})
			runtime.GC()
			require.NoError(t, other.Signal(syscall.SIGKILL))
			require.Equal(t, 137, other.Status().Code)
			select {
			case err := <-started:
				t.Fatalf("the start did not wait, or everything else waited for it: %v", err)
			default:
			}
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
			require.NoError(t, err)
			require.NoError(t, <-started)
			require.Zero(t, delayed.Status().Code)
		})
	}
}

// withLoader writes a copy of true with a copy of its loader.
func withLoader(t *testing.T, dir string) (program, loader string) {
	file, err := elf.Open("/bin/true")
	require.NoError(t, err)
	defer file.Close()
	at := slices.IndexFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	require.GreaterOrEqual(t, at, 0)
	path, err := io.ReadAll(file.Progs[at].Open())
	require.NoError(t, err)
	text, err := os.ReadFile(string(bytes.TrimRight(path, "\x00")))
	require.NoError(t, err)
	loader = filepath.Join(dir, "loader")
	require.NoError(t, os.WriteFile(loader, text, 0o755))

	text, err = os.ReadFile("/bin/true")
	require.NoError(t, err)
	header := text[int(binary.NativeEndian.Uint64(text[elfHeaders:]))+at*segment:]
	binary.NativeEndian.PutUint64(header[segmentOffset:], uint64(len(text)))
	binary.NativeEndian.PutUint64(header[segmentLength:], uint64(len(loader)+1))
	program = filepath.Join(dir, "loaded")
	require.NoError(t, os.WriteFile(program, append(text, loader+"\x00"...), 0o755))
	return program, loader
}

// TestInterpreter checks which program execve runs for a script.
func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	loaded, own := withLoader(t, dir)
	require.Equal(t, own, interpreter(loaded))
	text, err := os.ReadFile(loaded)
	require.NoError(t, err)
	for text, want := range map[string]string{
		string(text[:elfHeader]):   "", // cut short
		string(text[:elfHeader-1]): "",
		string(text[:4000]):        "", // without the path at its end
		"#!/bin/sh\n":              "/bin/sh",
		"#! \t/bin/sh -e\nexit":    "/bin/sh",
		"#!/bin/sh":                "/bin/sh",
		"#!\n/bin/sh":              "",
		"":                         "",
		"#":                        "",
		"\x7fELF":                  "",
		"# ! /bin/sh":              "",
		"#!relative/interpreter":   "relative/interpreter",
	} {
		path := filepath.Join(dir, "script")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		require.Equal(t, want, interpreter(path), "%q", text)
	}
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o755))
	require.Empty(t, interpreter(filepath.Join(dir, "fifo")))
	require.Empty(t, interpreter(dir))
	require.Empty(t, interpreter(filepath.Join(dir, "none")))
}

//go:build linux

package stacks

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// Flight is a dump of PyTorch's flight recorder by a process.
type Flight struct {
	Path  string // of the file, as the process sees it; "": it has no such recorder
	Bytes int64
	Why   string // why there is no new dump
}

// longestPath limits the path prefixes in bytes, because an answer has little room for them.
const longestPath = 256

const (
	flightPoll   = 20 * time.Millisecond
	flightSettle = 200 * time.Millisecond // no more bytes arrive in this time: the dump is complete
)

// Flights asks all of procs that have a pipe for this to dump their flight recorders. It returns
// when all have, or when ctx ends. PyTorch checks the pipe once a second.
//
// A process has such a pipe if TORCH_NCCL_DEBUG_INFO_PIPE_FILE is in its initial environment. The
// dump is where TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE says. Each variable is
// the prefix of a path; RANK follows.
func Flights(ctx context.Context, procs []reap.Proc) []Flight {
	flights := make([]Flight, len(procs))
	var all sync.WaitGroup
	for i, p := range procs {
		pipe, dump := recorder(p)
		if pipe == "" {
			continue
		}
		all.Go(func() {
			var ok bool
			if flights[i], ok = within(ctx, func() Flight { return fly(ctx, p, pipe, dump) }); !ok {
				flights[i] = Flight{Path: dump, Why: unreachable}
			}
		})
	}
	all.Wait()
	return flights
}

// recorder returns the paths of a process's pipe and dump, or "" if it has none.
func recorder(p reap.Proc) (pipe, dump string) {
	var buf bytes.Buffer
	if reap.Environ(p.PID, &buf) != nil {
		return "", ""
	}
	var older, rank string
	for record := range strings.SplitSeq(buf.String(), "\x00") {
		switch name, value, _ := strings.Cut(record, "="); name {
		case "TORCH_NCCL_DEBUG_INFO_PIPE_FILE":
			pipe = value
		case "TORCH_FR_DUMP_TEMP_FILE":
			dump = value
		case "TORCH_NCCL_DEBUG_INFO_TEMP_FILE":
			older = value
		case "RANK":
			rank = value
		}
	}
	if dump == "" {
		dump = older
	}
	if n, err := strconv.Atoi(rank); err != nil || n < 0 || pipe == "" || dump == "" || len(pipe) > longestPath || len(dump) > longestPath {
		return "", ""
	}
	return pipe + rank + ".pipe", dump + rank
}

// fly makes a process dump its recorder.
func fly(ctx context.Context, p reap.Proc, pipe, dump string) Flight {
	f := Flight{Path: dump}
	dir, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
	if err != nil {
		return Flight{Path: dump, Why: whyNot(errors.Unwrap(err))}
	}
	at := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	f.Path = at(dump)
	before, _ := os.Lstat(f.Path) // there may be none yet
	if f.Why = poke(p, at(pipe)); f.Why != "" {
		return f
	}
	tick := time.NewTicker(flightPoll)
	defer tick.Stop()
	var last os.FileInfo
	since := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if last == nil {
				f.Why = "no dump came in time"
			}
			return f
		}
		now, err := os.Lstat(f.Path)
		switch {
		case err != nil || !now.Mode().IsRegular() || now.Size() == 0:
		case before != nil && os.SameFile(before, now) && now.ModTime().Equal(before.ModTime()):
		case last == nil || now.Size() != last.Size():
			last, since, f.Bytes = now, time.Now(), now.Size()
		case time.Since(since) >= flightSettle:
			return f
		}
	}
}

// poke writes into the pipe of a process. The process chose the path, so only a FIFO of its own
// user counts.
func poke(p reap.Proc, pipe string) (why string) {
	var owner, st unix.Stat_t
	isPipe := func() bool { return st.Mode&unix.S_IFMT == unix.S_IFIFO && st.Uid == owner.Uid }
	if err := unix.Stat("/proc/"+strconv.Itoa(p.PID), &owner); err != nil {
		return hasEnded
	}
	if err := unix.Lstat(pipe, &st); err != nil {
		return "its pipe: " + err.Error()
	}
	if !isPipe() { // opening a device may have an effect
		return "its path is not a pipe"
	}
	fd, err := unix.Open(pipe, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENXIO:
		return "nothing reads its pipe"
	case err != nil:
		return "its pipe: " + err.Error()
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil || !isPipe() {
		return "its path is not a pipe"
	}
	if _, err := unix.Write(fd, []byte("1")); err != nil && err != unix.EAGAIN { // full: it was asked before
		return "its pipe: " + err.Error()
	}
	return ""
}

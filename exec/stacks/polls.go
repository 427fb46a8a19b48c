//go:build linux

package stacks

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MPICall returns the MPI function that a process calls by mpi4py in the current line of its first
// thread, such as "Recv". text is the process's stack. MPICall returns "" if the line also calls
// something else, may compute, or cannot be read before ctx ends. C frames are not shown, so the
// last line of Python is the one that calls mpi4py.
func MPICall(ctx context.Context, pid int, text []byte) string {
	file, line, ok := stands(text)
	if !ok {
		return ""
	}
	base := "/proc/" + strconv.Itoa(pid) + "/root"
	if !filepath.IsAbs(file) {
		base = "/proc/" + strconv.Itoa(pid) + "/cwd"
	}
	read := make(chan string, 1)
	go func() { // a file server that does not answer may block it; the caller does not wait for it
		text, err := lineOf(base+"/"+file, line)
		if err != nil {
			text = ""
		}
		read <- text
	}()
	select {
	case text := <-read:
		return mpiCallIn(text)
	case <-ctx.Done():
		return ""
	}
}

// mostThreads is how many threads faulthandler writes at most. With more, the first one may be
// missing.
const mostThreads = 100

// stands returns the innermost line of the first thread, which faulthandler writes last.
func stands(text []byte) (file string, line int, ok bool) {
	if len(text) >= MostText {
		return "", 0, false // cut
	}
	threads, at := 0, -1
	lines := strings.Split(string(text), "\n")
	for i, one := range lines {
		if strings.HasSuffix(one, " (most recent call first):") {
			threads, at = threads+1, i
		}
	}
	if at < 0 || threads >= mostThreads || at+1 >= len(lines) {
		return "", 0, false
	}
	rest, ok := strings.CutPrefix(lines[at+1], `  File "`)
	if !ok {
		return "", 0, false
	}
	file, rest, ok = strings.Cut(rest, `", line `)
	number, _, _ := strings.Cut(rest, " ")
	line, err := strconv.Atoi(number)
	return file, line, ok && err == nil && strings.HasSuffix(file, ".py")
}

// Limits of a file that is read for one of its lines.
const (
	mostSource  = 4 << 20 // bytes
	longestLine = 400     // bytes; a longer one may do anything
)

var errNoSource = errors.New("no source file of a program")

// lineOf reads a line, from 1, of a regular file. Another process chose the path, so anything but a
// regular file is not even opened for reading.
func lineOf(path string, line int) (string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > mostSource {
		return "", errNoSource
	}
	f, err := os.Open("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", err
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		if n == line && len(scan.Bytes()) <= longestLine {
			return string(bytes.TrimSpace(scan.Bytes())), nil
		}
	}
	return "", errNoSource
}

// Functions that return when another rank has done its part. The lower-case ones, which pickle,
// have the names of other libraries' functions, so their object must look like a communicator or a
// request.
var (
	waiting = []string{"Recv", "Mrecv", "Send", "Ssend", "Rsend", "Bsend", "Sendrecv", "Sendrecv_replace", "Probe", "Mprobe", "Barrier", "Bcast", "Gather",
		"Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
		"Reduce_scatter_block", "Scan", "Exscan", "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv"}
	pickling = []string{"recv", "mrecv", "send", "ssend", "sendrecv", "probe", "mprobe", "barrier", "bcast", "gather", "scatter", "allgather", "alltoall",
		"reduce", "allreduce", "scan", "exscan", "neighbor_allgather", "neighbor_alltoall"}
	requests = []string{"Wait", "Waitall", "Waitany", "Waitsome", "wait", "waitall", "waitany", "waitsome"}
	// harmless are fast functions that may be in the arguments.
	harmless = []string{"Get_rank", "Get_size", "len", "int", "range", "print"}
)

// mayCompute lists what may take long in C beside the call: a matrix product, and a loop that
// Python runs in the same frame.
var (
	mayCompute      = []string{"@", "**", ";"}
	mayComputeWords = []string{"for", "lambda", "await", "yield"}
)

// mpiCallIn returns the only function that a line of Python calls, if it is an MPI function that
// waits for other ranks.
func mpiCallIn(line string) (name string) {
	line, _, _ = strings.Cut(line, "#")
	if slices.ContainsFunc(mayCompute, func(sign string) bool { return strings.Contains(line, sign) }) {
		return ""
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !isName(r) }) {
		if slices.Contains(mayComputeWords, word) {
			return ""
		}
	}
	parts := strings.Split(line, "(")
	for _, before := range parts[:len(parts)-1] {
		object, called := callee(before)
		lower := strings.ToLower(object)
		switch {
		case called == "" || slices.Contains(harmless, called):
		case name == "" && (object != "" && slices.Contains(waiting, called) ||
			strings.Contains(lower, "comm") && slices.Contains(pickling, called) ||
			strings.Contains(lower, "req") && slices.Contains(requests, called)):
			name = called
		default:
			return ""
		}
	}
	return name
}

// callee splits the text before a parenthesis: "x = self.comm.Recv" into "self.comm" and "Recv".
// The name is "" if nothing is called.
func callee(before string) (object, name string) {
	before = strings.TrimRight(before, " \t")
	last := strings.LastIndexFunc(before, func(r rune) bool { return !isName(r) && r != '.' && r != '[' && r != ']' })
	path := before[last+1:]
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		return path[:dot], path[dot+1:]
	}
	return "", path
}

func isName(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
}

package stacks

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/lazyregexp"
)

// ParseNative reads the output of eu-stack or gdb about a process: frames of C and C++. It skips
// lines of other forms, and the values of arguments, which may be secrets.
func ParseNative(text []byte) (threads []Thread) {
	parse := parseGdb
	for raw := range bytes.Lines(text) {
		line := string(bytes.TrimRight(raw, "\n"))
		if strings.HasPrefix(line, "TID ") {
			parse = parseEuStack
		}
		if strings.HasPrefix(line, "TID ") || strings.HasPrefix(line, "Thread ") {
			if len(threads) == mostThreads {
				break
			}
			threads = append(threads, Thread{Current: len(threads) == 0}) // the main thread comes first
			continue
		}
		if len(threads) == 0 {
			continue
		}
		last := &threads[len(threads)-1]
		if start := frameStart().FindString(line); start != "" {
			if len(last.Frames) < mostFrames {
				last.Frames = append(last.Frames, parse(line[len(start):]).tidy())
			}
			continue
		}
		if at, ok := strings.CutPrefix(line, "    "); ok && len(last.Frames) > 0 {
			f := &last.Frames[len(last.Frames)-1] // eu-stack prints the source on a separate line
			if file, n, ok := parsePlace(at); ok && f.File == "" {
				f.File, f.Line = file, n
			}
		}
	}
	return threads
}

var frameStart = lazyregexp.New(`^#\d+ +(?:0x[0-9a-f]* ?)?(?:in )?`)

// parseEuStack reads what eu-stack prints after number and address: "load_batch - /app/train".
func parseEuStack(rest string) (f Frame) {
	name, module, _ := strings.Cut(" "+rest, " - ") // the name may be missing
	f.Func, f.Module = strings.TrimPrefix(name, " "), module
	if version := strings.IndexByte(f.Func, '@'); version > 0 { // clock_nanosleep@@GLIBC_2.17
		f.Func = f.Func[:version]
	}
	return f
}

// parseGdb reads what gdb prints after number and address: "load_batch (n=3) at train.c:6",
// "clock_nanosleep () from /lib/x86_64-linux-gnu/libc.so.6".
func parseGdb(rest string) (f Frame) {
	call := arguments(rest)
	if call < 0 {
		return Frame{Func: rest}
	}
	f.Func = rest[:call]
	if i := strings.LastIndex(rest, ") at "); i >= 0 {
		f.File, f.Line, _ = parsePlace(rest[i+len(") at "):])
	} else if i := strings.LastIndex(rest, ") from "); i >= 0 {
		f.Module = rest[i+len(") from "):]
	}
	return f
}

// tidy returns a native frame whose names are safe for a terminal.
func (f Frame) tidy() Frame {
	f.Native, f.Func, f.Module = true, visible(f.Func), visible(f.Module)
	if f.Func == "" || f.Func == "??" {
		f.Func = "?"
	}
	return f
}

// arguments returns where the arguments begin in "ns::f<void (int)> (n=3) at f.cc:3", or -1.
func arguments(text string) int {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case (c == '<' || c == '>') && strings.HasSuffix(strings.TrimRight(text[:i], "<=>-"), "operator"): // no bracket
		case c == '<':
			depth++
		case c == '>':
			depth--
		case c == '(' && depth <= 0 && i > 1 && text[i-1] == ' ':
			return i - 1
		}
	}
	return -1
}

// parsePlace reads "/app/train.c:31" or "/app/train.c:31:7".
func parsePlace(text string) (file string, line int, ok bool) {
	parts := strings.Split(text, ":")
	for i := 1; i < len(parts) && i < 3; i++ {
		if n, err := strconv.Atoi(parts[i]); err == nil && n > 0 {
			return visible(parts[0]), n, true
		}
	}
	return "", 0, false
}

// isSystem reports whether a native frame does not belong to the user's program: it is in a shared
// library, or in the sources of libc.
func (f Frame) isSystem() bool {
	return f.Native && (strings.Contains(path.Base(f.Module), ".so") || strings.HasPrefix(f.File, "./") || strings.HasPrefix(f.File, "../"))
}

// nativeMain returns the main thread of a rank whose native frames are known.
func (r Rank) nativeMain() []Frame {
	if len(r.native) == 0 {
		return nil
	}
	return r.native[0].Frames
}

// mpiWaits matches MPI functions that return only after other ranks have done something. Those with _c take large
// counts. Those with _init only prepare a call.
var mpiWaits = lazyregexp.New(`^P?MPI_(?:` +
	`(?:Recv|Mrecv|Send|Ssend|Rsend|Sendrecv(?:_replace)?|Bcast|Gatherv?|Scatterv?|Scan|Exscan|Reduce(?:_scatter(?:_block)?)?|Neighbor_all(?:gatherv?|toall[vw]?)|All(?:gatherv?|reduce|toall[vw]?))(?:_c)?|` +
	`Probe|Mprobe|Wait\w*|Barrier|Init|Init_thread|Finalize|` +
	`Comm_(?:split|dup|create|accept|connect|spawn|join|disconnect|free)\w*|Intercomm_(?:create|merge)\w*|(?:Cart|Graph|Dist_graph)_(?:create|sub)\w*|` +
	`Win_(?:create|allocate|free|fence|wait|lock|unlock|flush|start|complete)\w*|File_(?:open|close|sync|set_size|set_view|preallocate|\w+_(?:all|ordered)(?:_begin|_end)?(?:_c)?))$`)

// mpiFrame returns the frame of the MPI function in which a rank waits for others, or -1.
func (r Rank) mpiFrame() int {
	return slices.IndexFunc(r.nativeMain(), func(f Frame) bool { return mpiWaits().MatchString(f.Func) })
}

// inMPI returns the name of that function, or "".
func (r Rank) inMPI() string {
	if i := r.mpiFrame(); i >= 0 {
		return strings.TrimPrefix(r.nativeMain()[i].Func, "P")
	}
	return ""
}

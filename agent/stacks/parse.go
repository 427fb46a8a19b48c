package stacks

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is kept of one text.
const (
	mostThreads = 100 // same as faulthandler
	mostFrames  = 100 // same as faulthandler
	longestName = 300 // of a file or a function, in bytes
)

// Frame is a line of a stack.
type Frame struct {
	File string
	Line int // 0 if not known
	Func string
	// Native means C or C++; File is then often not known. Module is the program or library.
	Native bool
	Module string
}

// Thread is the stack of a thread, the most recent call first.
type Thread struct {
	Current bool // it has answered the signal
	Frames  []Frame
}

// Parse reads what faulthandler writes for all threads. It skips other lines.
func Parse(text []byte) (threads []Thread) {
	for raw := range bytes.Lines(text) {
		line := string(bytes.TrimRight(raw, "\n"))
		if strings.HasSuffix(line, " (most recent call first):") {
			current := strings.HasPrefix(line, "Current thread 0x")
			if !current && !strings.HasPrefix(line, "Thread 0x") {
				continue
			}
			if len(threads) == mostThreads {
				break
			}
			threads = append(threads, Thread{Current: current})
			continue
		}
		frame, ok := parseFrame(line)
		if !ok || len(threads) == 0 {
			continue
		}
		if last := &threads[len(threads)-1]; len(last.Frames) < mostFrames {
			last.Frames = append(last.Frames, frame)
		}
	}
	return threads
}

// parseFrame reads `  File "train.py", line 31 in load_batch`.
func parseFrame(line string) (Frame, bool) {
	rest, ok := strings.CutPrefix(line, `  File "`)
	if !ok {
		return Frame{}, false
	}
	const between = `", line `
	at := strings.LastIndex(rest, between)
	if at < 0 {
		return Frame{}, false
	}
	number, name, ok := strings.Cut(rest[at+len(between):], " in ")
	if !ok {
		return Frame{}, false
	}
	n, err := strconv.Atoi(number)
	if err != nil && number != "???" || n < 0 {
		return Frame{}, false
	}
	return Frame{File: visible(rest[:at]), Line: n, Func: visible(name)}, true
}

// visible shortens a name and removes what a terminal would interpret.
func visible(name string) string {
	name = strings.ToValidUTF8(name[:min(len(name), longestName)], "?")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, name)
}

// String returns "train.py:31 load_batch", or "load_batch" if the file is not known.
func (f Frame) String() string {
	if f.File == "" {
		return f.Func
	}
	text := path.Base(f.File)
	if f.Line > 0 {
		text += ":" + strconv.Itoa(f.Line)
	}
	return text + " " + f.Func
}

// main returns the main thread of a program: the oldest, which comes last. It returns nil if not
// known.
func main(threads []Thread) []Frame {
	if i := mainIndex(threads); i >= 0 {
		return threads[i].Frames
	}
	return nil
}

func mainIndex(threads []Thread) int {
	if len(threads) == mostThreads { // the main thread may be missing
		if i := slices.IndexFunc(threads, func(t Thread) bool { return t.Current }); i >= 0 {
			return i
		}
	}
	return len(threads) - 1
}

// isLibrary reports whether a file does not belong to the user's program.
func isLibrary(file string) bool {
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return strings.HasPrefix(file, "<frozen ") || strings.HasPrefix(file, "<__array_function__")
}

// line returns a frame for a list, in the format of Python or of gdb.
func (f Frame) line() string {
	switch {
	case !f.Native:
		return fmt.Sprintf("File %q, line %d in %s", f.File, f.Line, f.Func)
	case f.File != "":
		return fmt.Sprintf("%s at %s:%d", f.Func, f.File, f.Line)
	case f.Module != "":
		return f.Func + " from " + f.Module
	}
	return f.Func
}

// own returns the most recent frame of the user's program, else the most recent frame.
func own(frames []Frame) (Frame, bool) {
	for _, f := range frames {
		if !isLibrary(f.File) && !f.isSystem() {
			return f, true
		}
	}
	if len(frames) > 0 {
		return frames[0], true
	}
	return Frame{}, false
}

package stacks

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// ParsePySpy reads the output of `py-spy dump --full-filenames`. It skips lines of other forms.
// Functions are named like faulthandler does, without their classes, so that ranks in the same
// place are recognized.
func ParsePySpy(text []byte) (threads []Thread) {
	for raw := range bytes.Lines(text) {
		line := string(bytes.TrimRight(raw, "\n"))
		if strings.HasPrefix(line, "Thread ") {
			if len(threads) == mostThreads {
				break
			}
			threads = append(threads, Thread{Current: len(threads) == 0}) // the oldest comes first
			continue
		}
		frame, ok := parsePySpyFrame(line)
		if !ok || len(threads) == 0 {
			continue
		}
		if last := &threads[len(threads)-1]; len(last.Frames) < mostFrames {
			last.Frames = append(last.Frames, frame)
		}
	}
	slices.Reverse(threads)
	return threads
}

// parsePySpyFrame reads `    Loader.load_batch (/app/train.py:31)`.
func parsePySpyFrame(line string) (Frame, bool) {
	rest, ok := strings.CutPrefix(line, "    ")
	if !ok {
		return Frame{}, false
	}
	name, at, ok := strings.Cut(rest, " (")
	at, closed := strings.CutSuffix(at, ")")
	if !ok || !closed || name == "" || strings.HasPrefix(name, " ") {
		return Frame{}, false
	}
	colon := strings.LastIndexByte(at, ':')
	if colon < 0 {
		return Frame{}, false
	}
	n, err := strconv.Atoi(at[colon+1:])
	if err != nil || n < 0 {
		return Frame{}, false
	}
	return Frame{File: visible(at[:colon]), Line: n, Func: visible(name[strings.LastIndexByte(name, '.')+1:])}, true
}

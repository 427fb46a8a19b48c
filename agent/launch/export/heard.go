//go:build linux

package export

import (
	"bufio"
	"fmt"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/launch/console"
)

const (
	// longestLine bounds a line of the program that is printed, in bytes.
	longestLine = 4 << 10
	// hintMark begins a line that says what to do about the line before it. The program writes both
	// at once.
	hintMark = "hint: "
)

// heard makes sure that the user gets one warning at most. Further problems of a program on the side
// would only hide the run's own messages.
type heard struct {
	mu   sync.Mutex
	told bool
}

// tell prints a warning, unless there was one before.
func (h *heard) tell(v *console.Voice, problem, hint string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told {
		return
	}
	h.told = true
	v.Warn("%s", problem)
	v.Hint(hint)
}

// hear reads what the program prints until it has ended. The first problem becomes the warning.
func (e *Exporter) hear() {
	defer e.said.Close()
	for r := bufio.NewReaderSize(e.said, longestLine); ; {
		problem, err := e.line(r)
		if problem != "" {
			hint := ""
			if next, _ := r.Peek(min(len(hintMark), r.Buffered())); string(next) == hintMark {
				hint, err = e.line(r)
			}
			e.heard.tell(e.cfg.Voice, problem, strings.TrimPrefix(hint, hintMark))
		}
		if err != nil {
			break
		}
	}
	select {
	case <-e.proc.Done():
	case <-e.stop:
	}
	if e.isOver() {
		return
	}
	e.queue.close()
	e.heard.tell(e.cfg.Voice, fmt.Sprintf("agent-exporter ended with exit code %d: the run goes on without metrics and traces", e.proc.Status().Code),
		"if the kernel killed it for its memory, raise the memory limit of the launcher's container")
}

// isOver reports whether the run has ended, so that the program ends too.
func (e *Exporter) isOver() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// line reads one line, or a piece of a line that is too long. The error is that of the reader.
func (e *Exporter) line(r *bufio.Reader) (string, error) {
	piece, isPrefix, err := r.ReadLine()
	text := strings.ToValidUTF8(strings.TrimSpace(string(piece)), "")
	if isPrefix {
		text += "..."
	}
	if text != "" {
		e.cfg.Log.Debug(Program, "line", text)
	}
	return text, err
}

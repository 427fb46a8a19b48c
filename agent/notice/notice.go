// Package notice reads what mpirun writes about the rank that failed, and what NCCL writes about the
// network that it uses. It recognizes what CUDA, HIP and the driver write about a broken device.
//
// Open MPI, PRRTE, MPICH and Intel MPI name the rank as text on standard error; Hydra does so on
// standard output. Any rank may write the same words, so callers must compare the result with other
// evidence. NCCL writes to standard output if NCCL_DEBUG=INFO is set.
package notice

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/lazyregexp"
)

// End is the end of a rank, as mpirun reports it.
type End struct {
	Rank   int    // in MPI_COMM_WORLD; -1 if not known
	PID    int    // on its host; 0 if not known
	Host   string // as mpirun calls it; "" if not known
	Code   int    // exit code, 128+n for signal n; 0 if not known
	Signal int    // that killed it; 0 if it exited
	Hydra  bool   // reported by Hydra
	At     time.Time
}

// Limits of what is kept. Text beyond them is not read.
const (
	lineMost  = 512  // bytes of a line
	textMost  = 1024 // bytes of a notice
	linesMost = 8    // lines of a notice
	endsMost  = 64
)

// shape is one way to report a rank: the words that begin the notice, and a pattern for all of it,
// on one line.
type shape struct {
	begins string
	whole  func() *regexp.Regexp
	end    func(fields []string) (End, bool)
}

// shapes returns all ways to report a rank.
func shapes() []shape {
	aborted := func(f []string) (End, bool) { return endOf(f[1], f[2], f[3], "", f[4]) }
	return []shape{
		{"noticed that process rank", lazyregexp.New(`noticed that process rank (\d+) with PID (\d+) on node (\S+) exited on signal (\d+)`), aborted},
		{"detected that one or more processes", lazyregexp.New(`Process name: \[\S+,(\d+)\] Exit code: (\d+)`),
			func(f []string) (End, bool) { return endOf(f[1], "", "", f[2], "") }},
		{"has exited due to process rank", lazyregexp.New(`has exited due to process rank (\d+) with PID (\d+) on node (\S+) exiting improperly`),
			func(f []string) (End, bool) { return endOf(f[1], f[2], f[3], "", "") }},
		{"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", lazyregexp.New(`(?:RANK (\d+) )?PID (\d+) RUNNING AT (\S+) = (EXIT CODE|EXIT STATUS|KILLED BY SIGNAL): (\d+)`), hydra},
	}
}

// hydra reads an end as Hydra writes it. MPICH names no rank. Its pid and exit code may belong to
// another rank on that host that was killed later, so only the host is used.
func hydra(f []string) (e End, ok bool) {
	switch {
	case f[1] == "":
		e, ok = End{Rank: -1, Host: f[3]}, len(f[3]) <= lineMost
	case f[4] == "KILLED BY SIGNAL":
		e, ok = endOf(f[1], f[2], f[3], "", f[5])
	default:
		e, ok = endOf(f[1], f[2], f[3], f[5], "")
	}
	e.Hydra = true
	return e, ok
}

// endOf reads the parts of a notice; "" is a part that is missing. ok is false if a part is out of
// range.
func endOf(rank, pid, host, code, signal string) (e End, ok bool) {
	ok = true
	number := func(text string, most int) int {
		n := 0
		if text != "" {
			var err error
			n, err = strconv.Atoi(text)
			ok = ok && err == nil && n <= most
		}
		return n
	}
	e = End{Rank: number(rank, 1<<30), PID: number(pid, 1<<30), Host: host, Code: number(code, 255), Signal: number(signal, 64)}
	if e.Signal != 0 {
		e.Code = 128 + e.Signal
	}
	return e, ok
}

// Reader finds the ends in a stream. It implements io.Writer and accepts every byte.
type Reader struct {
	now    func() time.Time
	shapes []shape

	mu   sync.Mutex
	line []byte // the current line so far
	open *shape // shape of the unfinished notice; nil if there is none
	left int    // lines that it may still have
	text string // its text so far
	ends []End
}

// NewReader returns a Reader that takes the time of each end from now.
func NewReader(now func() time.Time) *Reader { return &Reader{now: now, shapes: shapes()} }

// Ends returns the ends found so far, in the order of the stream.
func (r *Reader) Ends() []End {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]End(nil), r.ends...)
}

// Write implements io.Writer. It never fails.
func (r *Reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(p)
	may := r.mayBegin(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			r.keep(p)
			return size, nil
		}
		r.keep(p[:i])
		r.take()
		p = p[i+1:]
		if !may && r.open == nil { // the usual case: only the last line may continue in a notice
			p = p[bytes.LastIndexByte(p, '\n')+1:]
		}
	}
}

// Close implements io.Closer. It reads a notice whose last newline is missing.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take()
	return nil
}

// mayBegin reports whether a notice may begin within p.
func (r *Reader) mayBegin(p []byte) bool {
	for _, s := range r.shapes {
		if bytes.Contains(p, []byte(s.begins)) {
			return true
		}
	}
	return false
}

// keep adds p to the line, up to the limit.
func (r *Reader) keep(p []byte) {
	r.line = append(r.line, p[:min(len(p), lineMost-len(r.line))]...)
}

// take reads the line.
func (r *Reader) take() {
	line := plain(r.line)
	r.line = r.line[:0]
	if s := r.begun(line); s != nil {
		r.open, r.left, r.text = s, linesMost, line
	} else if r.open == nil {
		return
	} else {
		r.left--
		r.text += " " + line
	}
	if f := r.open.whole().FindStringSubmatch(r.text); f != nil {
		if e, ok := r.open.end(f); ok && len(r.ends) < endsMost {
			e.At = r.now()
			r.ends = append(r.ends, e)
		}
		r.open = nil
	} else if r.left == 0 || len(r.text) > textMost {
		r.open = nil
	}
}

// begun returns the shape that begins in a line, or nil.
func (r *Reader) begun(line string) *shape {
	for i, s := range r.shapes {
		if strings.Contains(line, s.begins) {
			return &r.shapes[i]
		}
	}
	return nil
}

var (
	escape = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\a\x1b]*(\a|\x1b\\\\)|[@-Z\\\\^_])")
	tag    = regexp.MustCompile(`^(\[[^\[\] ]*\](<[a-z]+>)?:? ?)+`)
)

// plain returns a line without terminal escapes, without the tag that mpirun puts before the lines
// of a rank, and with single blanks.
func plain(line []byte) string {
	text := escape.ReplaceAllString(string(line), "")
	text = tag.ReplaceAllString(strings.TrimSpace(text), "")
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}

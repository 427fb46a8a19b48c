package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Run names the run that writes to a directory.
type Run struct {
	ID        string
	Job       string // "": the run belongs to no job
	Namespace string
	Version   string // of Muster
}

// Process is one process of an attempt.
type Process struct {
	Label  string // rank 3, ps 0; with hyphens it is the name of the files
	Rank   int    // NoRank: it has none
	Worker string
	Node   string // "": not known
}

// Writer writes the output of one run. Its methods may be called from any goroutine.
type Writer struct {
	dir   string
	aside string       // name of the directory to which a later run moves the files
	files atomic.Int64 // number of files that are open

	opening sync.Mutex // held with the lock of the index, which this process could take twice

	mu      sync.Mutex
	index   *os.File
	torn    bool // the last line of the index was cut short
	attempt int
	begun   bool            // the attempt has begun, and not ended
	here    map[string]bool // files of this run
	err     error           // the first error of the index
}

// takenError reports an existing file that no run has written.
type takenError struct{ path string }

func (e *takenError) Error() string {
	return e.path + " exists and was not written by an earlier run; not overwriting it"
}

// Hint says what to do about it.
func (e *takenError) Hint() string { return "remove it, or name another directory" }

// busyError reports that another run has just begun to write to a directory.
type busyError struct{ path string }

func (e *busyError) Error() string {
	return e.path + " belongs to another run that has just begun"
}

// Hint says what to do about it.
func (e *busyError) Hint() string {
	return "name another directory for each run that begins at this time"
}

// Open makes dir ready for the output of a run, and creates it if necessary. It moves the files of an
// earlier run into a directory of their own below it, and begins the index.
func Open(dir string, run Run) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	if err := setAside(dir); err != nil {
		return nil, err
	}
	// O_EXCL: of two runs that begin at the same time, one must not write into the index of the other.
	index, err := os.OpenFile(filepath.Join(dir, IndexName), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, &busyError{filepath.Join(dir, IndexName)}
	}
	if err != nil {
		return nil, fmt.Errorf("create the index of the output: %w", err)
	}
	first := record{Kind: kindRun, At: time.Now(), Run: run.ID, Job: run.Job, Namespace: run.Namespace, Version: run.Version}
	w := &Writer{dir: dir, aside: asideName(first), index: index, here: map[string]bool{}}
	if err := w.note(first); err != nil {
		return nil, errors.Join(err, index.Close(), os.Remove(index.Name()))
	}
	return w, nil
}

// Name returns the name of the run: that of the directory of an earlier run, and of its objects in a bucket.
func (w *Writer) Name() string { return w.aside }

// Begin starts an attempt. Processes that are opened later belong to it.
func (w *Writer) Begin(attempt int) {
	w.mu.Lock()
	w.attempt, w.begun = attempt, true
	w.mu.Unlock()
	w.keep(w.note(record{Kind: kindAttempt, Attempt: &attempt}))
}

// End ends the attempt with its exit code; why may be "". It does nothing if no attempt has begun.
func (w *Writer) End(code int, why string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	attempt, begun := w.attempt, w.begun
	w.begun = false
	w.mu.Unlock()
	if !begun {
		return
	}
	w.keep(w.note(record{Kind: kindAttemptEnded, Attempt: &attempt, Code: &code, Why: why}))
}

// Streams opens the files of a process. If it has written in this run before, they are continued.
func (w *Writer) Streams(p Process) (stdout, stderr io.WriteCloser, err error) {
	base := strings.ReplaceAll(p.Label, " ", "-")
	out, from, err := w.open(base + ".out")
	if err != nil {
		return nil, nil, fmt.Errorf("open output file: %w", err)
	}
	complaints, fromErr, err := w.open(base + ".err")
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open output file: %w", err), out.Close())
	}
	w.mu.Lock()
	attempt := w.attempt
	w.mu.Unlock()
	err = w.note(record{Kind: kindProcess, Attempt: &attempt, Rank: &p.Rank, Label: p.Label, Worker: p.Worker, Node: p.Node,
		Stdout: &place{base + ".out", from}, Stderr: &place{base + ".err", fromErr}})
	if err != nil {
		return nil, nil, errors.Join(err, out.Close(), complaints.Close())
	}
	return out, complaints, nil
}

// open opens a file of this run for appending, and returns its size. The lock keeps a later run from moving this one
// meanwhile. On a file system without locks, open repeats that if it was moved.
func (w *Writer) open(name string) (*file, int64, error) {
	w.opening.Lock()
	defer w.opening.Unlock()
	if lock(w.index) {
		defer unlock(w.index)
	}
	for {
		dir := w.current()
		f, size, err := w.openIn(dir, name)
		if w.current() == dir {
			return f, size, err
		}
		if err == nil {
			err = f.Close()
		}
		var taken *takenError // by the later run
		if err != nil && !errors.As(err, &taken) {
			return nil, 0, err
		}
	}
}

// openIn opens a file of this run in dir.
func (w *Writer) openIn(dir, name string) (*file, int64, error) {
	path := filepath.Join(dir, name)
	w.mu.Lock()
	known := w.here[name]
	w.mu.Unlock()
	if !known {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return nil, 0, &takenError{path}
		}
		// First the index: a launcher that is killed now leaves no file that seems to be another's.
		if err := w.note(record{Kind: kindFile, File: name}); err != nil {
			return nil, 0, err
		}
		w.mu.Lock()
		w.here[name] = true
		w.mu.Unlock()
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = 0
	}
	w.files.Add(1)
	return &file{to: f, of: w, name: name, size: size, begins: true, noted: time.Now()}, size, nil
}

// current returns the directory that has the files of this run now.
func (w *Writer) current() string { return DirOf(w.dir, w.index, w.aside) }

// note appends a line to the index.
func (w *Writer) note(r record) error {
	if r.At.IsZero() {
		r.At = time.Now()
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.torn { // else this line would be a part of that one, and lost as well
		line = append([]byte{'\n'}, line...)
	}
	n, err := w.index.Write(line)
	if n > 0 {
		w.torn = err != nil
	}
	if err != nil {
		return fmt.Errorf("write the index of the output: %w", err)
	}
	return nil
}

// keep remembers the first error of the index, for Close.
func (w *Writer) keep(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && !errors.Is(err, fs.ErrClosed) {
		w.err = err
	}
}

// Close ends the run with its exit code, and waits until the index is on the disk. It returns the
// first error of the index.
func (w *Writer) Close(code int, why string) error {
	w.keep(w.note(record{Kind: kindRunEnded, Code: &code, Why: why}))
	w.keep(settle(w.index))
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

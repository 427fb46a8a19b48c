package archive

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Index is what a directory knows about one run.
type Index struct {
	Run
	Dir      string
	Began    time.Time
	Attempts []Attempt
	Ended    time.Time // zero: the run has not ended, or its launcher was killed
	Code     int       // exit code, after the end

	times map[string][]mark // of each file, by offset
}

// Attempt is one attempt of a run.
type Attempt struct {
	Number    int
	Began     time.Time
	Ended     time.Time // zero: not yet, or the launcher was killed
	Code      int       // exit code, after the end
	Why       string
	Processes []Part
}

// Part is what one process wrote in one attempt.
type Part struct {
	Process
	Began          time.Time
	Stdout, Stderr Span
}

// Span is a part of a file.
type Span struct {
	File     string
	From, To int64 // offsets in bytes; To is toEnd for the end of the file
}

// toEnd is the end of a part that no later part of its file follows.
const toEnd = -1

// mark is when the byte at an offset was written.
type mark struct {
	from int64
	at   time.Time
}

// mostLine is the longest line of an index in bytes. The reason of an end may be long.
const mostLine = 1 << 20

// Read reads the index in dir. If there is none, the error is fs.ErrNotExist. Lines that a crash has
// cut short, and those of a later release, are skipped.
func Read(dir string) (*Index, error) {
	f, err := os.Open(filepath.Join(dir, IndexName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := &Index{Dir: dir, times: map[string][]mark{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			x.take(r)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the index of the output: %w", err)
	}
	if x.ID == "" {
		return nil, fmt.Errorf("%s: not an index of output", f.Name())
	}
	x.cut()
	return x, nil
}

// take adds a line of the index.
func (x *Index) take(r record) {
	switch r.Kind {
	case kindRun:
		x.Run, x.Began = Run{ID: r.Run, Job: r.Job, Namespace: r.Namespace, Version: r.Version}, r.At
	case kindAttempt:
		if r.Attempt != nil {
			x.Attempts = append(x.Attempts, Attempt{Number: *r.Attempt, Began: r.At})
		}
	case kindProcess:
		x.process(r)
	case kindTime:
		x.times[r.File] = append(x.times[r.File], mark{r.From, r.At})
	case kindAttemptEnded:
		if n := len(x.Attempts); n > 0 {
			a := &x.Attempts[n-1]
			a.Ended, a.Why = r.At, r.Why
			if r.Code != nil {
				a.Code = *r.Code
			}
		}
	case kindRunEnded:
		if x.Ended = r.At; r.Code != nil {
			x.Code = *r.Code
		}
	}
}

// process adds a process to the newest attempt.
func (x *Index) process(r record) {
	n := len(x.Attempts)
	if n == 0 || r.Stdout == nil || r.Stderr == nil || !isPlain(r.Stdout.File) || !isPlain(r.Stderr.File) {
		return
	}
	p := Part{Process: Process{Label: r.Label, Rank: NoRank, Worker: r.Worker, Node: r.Node}, Began: r.At,
		Stdout: Span{r.Stdout.File, r.Stdout.From, toEnd}, Stderr: Span{r.Stderr.File, r.Stderr.From, toEnd}}
	if r.Rank != nil {
		p.Rank = *r.Rank
	}
	x.Attempts[n-1].Processes = append(x.Attempts[n-1].Processes, p)
}

// FilesOf returns the names of the files of a rank.
func (x *Index) FilesOf(rank int) (files []string) {
	for _, a := range x.Attempts {
		for _, p := range a.Processes {
			for _, span := range []Span{p.Stdout, p.Stderr} {
				if p.Rank == rank && !slices.Contains(files, span.File) {
					files = append(files, span.File)
				}
			}
		}
	}
	return files
}

// cut ends each part where the next one of its file begins.
func (x *Index) cut() {
	last := map[string]*Span{}
	for i := range x.Attempts {
		for k := range x.Attempts[i].Processes {
			p := &x.Attempts[i].Processes[k]
			for _, span := range []*Span{&p.Stdout, &p.Stderr} {
				if before := last[span.File]; before != nil {
					before.To = max(before.From, span.From)
				}
				last[span.File] = span
			}
		}
	}
}

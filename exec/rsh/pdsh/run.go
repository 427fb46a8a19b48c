package pdsh

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/shortage"
)

const (
	// exitFailed is the exit code that pdsh -S uses for a command that it has killed.
	exitFailed = 254
	// maxLine limits the memory of a line without an end.
	maxLine = 1 << 20
	// readSize is small, because each of a thousand hosts has two readers.
	readSize = 4 << 10
	// batch is how many available bytes are written at once.
	batch = 32 << 10
)

// Output is where lines and error messages go. Name begins error messages, which go to Own, or to Err if
// that is nil.
type Output struct {
	Name          string
	Out, Err, Own io.Writer
}

// run is one call of Run. It never mixes lines of different hosts.
type run struct {
	Output
	job      Job
	socket   string
	labels   []string
	out, err sync.Mutex // protect Out and Err
	hint     sync.Once
}

// Run runs the job through the broker at socket and returns the exit code.
func Run(socket string, j Job, o Output) int {
	r := &run{Output: o, job: j, socket: socket, labels: labels(j.Hosts)}
	var largest atomic.Int64
	var group sync.WaitGroup
	free := make(chan struct{}, j.FanOut)
	for i := range j.Hosts {
		free <- struct{}{}
		group.Go(func() {
			code := int64(r.one(i))
			for old := largest.Load(); code > old && !largest.CompareAndSwap(old, code); old = largest.Load() {
			}
			<-free
		})
	}
	group.Wait()
	if !j.Largest {
		return 0
	}
	return int(largest.Load())
}

// one runs the command on host i and returns its exit code.
func (r *run) one(i int) int {
	label := r.labels[i]
	var pipes [4]*os.File // stdout and stderr, each with a reading and a writing end
	defer func() {
		for _, f := range pipes {
			f.Close() // may be closed already or never opened; the error has no meaning
		}
	}()
	for k := 0; k < 4; k += 2 {
		var err error
		if pipes[k], pipes[k+1], err = os.Pipe(); err != nil { //nolint:gosec // G602: pipes has four
			r.complain(label, fmt.Errorf("make a pipe: %w", err))
			return exitFailed
		}
	}
	line, user := r.job.Line(i)
	call, err := rsh.Begin(r.socket, rsh.Request{Host: r.job.Hosts[i], User: user, Command: line}, int(pipes[1].Fd()), int(pipes[3].Fd()))
	if err != nil {
		r.complain(label, err)
		return names.ExitTransport
	}
	// The broker has copies. When it has closed them, the output has ended.
	pipes[1].Close()
	pipes[3].Close()
	var readers sync.WaitGroup
	readers.Go(func() { r.carry(r.Out, &r.out, pipes[0], label) })
	readers.Go(func() { r.carry(r.Err, &r.err, pipes[2], label) })
	var late atomic.Bool
	if r.job.Timeout > 0 {
		defer time.AfterFunc(r.job.Timeout, func() { late.Store(true); call.Close() }).Stop()
	}
	code, err := call.Wait()
	call.Close()
	readers.Wait()
	switch {
	case late.Load() && code == names.ExitTransport:
		r.complain(label, errors.New("command timeout"))
		return exitFailed
	case err != nil:
		r.complain(label, err)
	case code != 0:
		r.complain(label, fmt.Errorf("exited with exit code %d", code))
	}
	return code
}

// complain reports an error of a host. It prints a hint only once.
func (r *run) complain(label string, err error) {
	r.err.Lock()
	defer r.err.Unlock()
	to := r.Own
	if to == nil {
		to = r.Err
	}
	fmt.Fprintf(to, "%s: %s: %v\n", r.Name, label, err)
	if way := shortage.Way(err); way != "" {
		r.hint.Do(func() { fmt.Fprintln(to, "hint: "+way) })
	}
}

// carry writes the lines of one stream as they come, each after its label.
func (r *run) carry(w io.Writer, mu *sync.Mutex, from io.Reader, label string) {
	if r.job.NoLabels {
		label = ""
	} else {
		label += ": "
	}
	in := bufio.NewReaderSize(from, readSize)
	var text []byte // complete lines, and the beginning of the next
	start := 0      // start of the last line in text
	flush := func() {
		mu.Lock()
		defer mu.Unlock()
		// If our own output is gone, SIGPIPE has ended us, or the rest has no reader.
		_, _ = w.Write(text[:start])
		text, start = append(text[:0], text[start:]...), 0
	}
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 && len(text) == start {
			text = append(text, label...)
		}
		text = append(text, piece...)
		switch {
		case err == nil:
			start = len(text)
		case errors.Is(err, bufio.ErrBufferFull):
			if len(text)-start >= maxLine {
				text = r.finish(text)
				start = len(text)
			}
		default: // the end: the broker has closed its copy
			if len(text) > start {
				text = r.finish(text)
				start = len(text)
			}
			flush()
			return
		}
		if start >= batch || start > 0 && !moreLines(in) {
			flush()
		}
	}
}

// finish ends an unfinished line if the next one will have a label.
func (r *run) finish(text []byte) []byte {
	if r.job.NoLabels {
		return text
	}
	return append(text, '\n')
}

// moreLines reports whether a complete line is available without waiting.
func moreLines(in *bufio.Reader) bool {
	there, _ := in.Peek(in.Buffered()) // no error is possible: the bytes are buffered
	return bytes.IndexByte(there, '\n') >= 0
}

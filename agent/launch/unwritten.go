//go:build linux

package launch

import (
	"cmp"
	"errors"
	"io"
	"os"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/shortage"
)

// unwritten says that a result of the run could not be written. A run that lost
// something of what it was asked to write does not end with 0.
func (r *runner) unwritten(err error) {
	err = unwritable(err)
	r.voice.Warn("%v", err)
	r.voice.Hint(wayOf(err, ""))
	r.spoiled.note(err)
}

// outputLost notes output of the command that could not be written, and says
// the first such error. The command meets a closed pipe then.
func (r *runner) outputLost(err error) {
	if r.lostOutput.note(unwritable(err)) {
		r.voice.Warn("%v", err)
	}
}

// cutShort is the verdict of an attempt whose output could not be written: what
// its processes did after that, such as dying of SIGPIPE, follows from it.
func (r *runner) cutShort(v verdict.Verdict, told int, lost int) (verdict.Verdict, bool) {
	err := r.lostOutput.err()
	if err == nil || told != 0 || lost > 0 {
		return v, false
	}
	why := err.Error()
	if v.Why != "" {
		why += "; after that, " + v.Why
	}
	return verdict.Verdict{Code: failure.CodeOf(err), Why: why}, true
}

// settleCode is the exit code of a run with what could not be written counted: a 0
// becomes that of the first error.
func (r *runner) settleCode(code int, why string) (int, string) {
	for _, err := range []error{r.lostOutput.err(), r.spoiled.err(), r.voice.lost.err()} {
		if err != nil && code == 0 {
			return failure.CodeOf(err), err.Error()
		}
	}
	return code, why
}

// wayOf returns the hint for err, or else otherwise.
func wayOf(err error, otherwise string) string {
	return cmp.Or(shortage.Way(err), otherwise)
}

// named gives the errors of a writer the name of its place.
type named struct {
	name string
	to   io.Writer
}

func (n named) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		err = called(n.name, err)
	}
	return written, err
}

// noted tells of the errors of a process's output; a writer that was given up,
// os.ErrClosed, is no error of writing.
type noted struct {
	io.WriteCloser
	tell func(error)
}

func (n noted) Write(p []byte) (int, error) {
	written, err := n.WriteCloser.Write(p)
	n.look(err)
	return written, err
}

func (n noted) Close() error {
	err := n.WriteCloser.Close()
	n.look(err)
	return err
}

func (n noted) look(err error) {
	if err != nil && !errors.Is(err, os.ErrClosed) {
		n.tell(err)
	}
}

// noteErrors is w with its errors told of; nil stays nil.
func (r *runner) noteErrors(w io.WriteCloser) io.WriteCloser {
	if w == nil {
		return nil
	}
	return noted{w, r.outputLost}
}

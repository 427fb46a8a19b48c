//go:build linux

package launch

import (
	"io"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/shortage"
)

// checkOutfiles looks before the run whether the files of --report and
// --metrics-file can be written: hours later it is too late to say so.
func checkOutfiles(c config.Config) error {
	for _, file := range []struct {
		flag, path string
		ours       func([]byte) bool
	}{{"report", c.Report, report.Ours}, {"metrics-file", c.MetricsFile, metrics.Ours}} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path, file.ours); err != nil {
			return failure.Usage(outfile.Hint(err), "--%s=%s: %w", file.flag, file.path, err)
		}
	}
	return nil
}

// unwritten says that a result of the run could not be written. A run that lost
// something of what it was asked to write does not end with 0.
func (r *runner) unwritten(err error) {
	err = console.Unwritable(err)
	r.voice.Warn("%v", err)
	r.voice.Hint(shortage.Way(err))
	r.spoiled.Note(err)
}

// outputLost notes output of the command that could not be written, and says
// the first such error. The command meets a closed pipe then.
func (r *runner) outputLost(err error) {
	if r.lostOutput.Note(console.Unwritable(err)) {
		r.voice.Warn("%v", err)
	}
}

// cutShort is the verdict of an attempt whose output could not be written: what
// its processes did after that, such as dying of SIGPIPE, follows from it.
func (r *runner) cutShort(v verdict.Verdict, told int, lost int) (verdict.Verdict, bool) {
	err := r.lostOutput.Err()
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
	for _, err := range []error{r.lostOutput.Err(), r.spoiled.Err(), r.voice.Lost()} {
		if err != nil && code == 0 {
			return failure.CodeOf(err), err.Error()
		}
	}
	return code, why
}

// noteErrors is w with its errors told of; nil stays nil.
func (r *runner) noteErrors(w io.WriteCloser) io.WriteCloser {
	if w == nil {
		return nil
	}
	return console.Noted{WriteCloser: w, Tell: r.outputLost}
}

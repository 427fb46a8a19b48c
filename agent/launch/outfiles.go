//go:build linux

package launch

import (
	"io"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/shortage"
)

// checkOutfiles checks before the run that the files of --report, --metrics-file and --events can be
// written. An error hours later would come too late.
func checkOutfiles(c config.Config) error {
	for _, file := range []struct {
		flag, path string
		ours       func([]byte) bool
	}{{"report", c.Report, report.Ours}, {"metrics-file", c.MetricsFile, metrics.Ours}, {"events", c.Events, event.Ours}} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path, file.ours); err != nil {
			return failure.Usage(outfile.Hint(err), "--%s=%s: %w", file.flag, file.path, err)
		}
	}
	return nil
}

// unwritten prints that a result of the run could not be written. Such a run does not exit with 0.
func (r *runner) unwritten(err error) {
	err = console.Unwritable(err)
	r.voice.Warn("%v", err)
	r.voice.Hint(shortage.Way(err))
	r.spoiled.Note(err)
}

// outputLost records output of the command that could not be written, and prints the first such
// error. The command then sees a closed pipe.
func (r *runner) outputLost(err error) {
	if r.lostOutput.Note(console.Unwritable(err)) {
		r.voice.Warn("%v", err)
	}
}

// cutShort returns the verdict of an attempt whose output could not be written. Later failures of
// its processes, such as death by SIGPIPE, are consequences.
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

// settleCode returns the exit code of a run that counts what could not be written. It replaces a 0
// by the code of the first error.
func (r *runner) settleCode(code int, why string) (int, string) {
	for _, err := range []error{r.lostOutput.Err(), r.spoiled.Err(), r.voice.Lost()} {
		if err != nil && code == 0 {
			return failure.CodeOf(err), err.Error()
		}
	}
	return code, why
}

// noteErrors returns w with its errors recorded. nil stays nil.
func (r *runner) noteErrors(w io.WriteCloser) io.WriteCloser {
	if w == nil {
		return nil
	}
	return console.Noted{WriteCloser: w, Tell: r.outputLost}
}

//go:build linux

package launch

import (
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/agent/tracecontext"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/rendezvous"
)

// beginRecord opens the record of events. A run does not need its file, unless the user wants it.
func (r *runner) beginRecord() {
	var err error
	if r.record, err = record.Open(r.place.Base, r.id); err != nil {
		r.log.Warn("cannot record events", "error", err)
	}
	r.hearStarved()
	r.beginExport()
	r.record.Note(event.RunStarted, build.Version(), r.cfg.Most())
}

// beginTrace finds the place of the run in a trace.
func (r *runner) beginTrace() {
	var err error
	if r.trace, err = tracecontext.Start(os.Getenv); err != nil {
		r.voice.Warn("%v", err)
		r.voice.Hint("TRACEPARENT is 00-TRACE-SPAN-FLAGS, as W3C Trace Context defines it")
	}
}

// endRecord completes the record with the result of the run, and copies it to the file of --events.
func (r *runner) endRecord(path string, code int, why string) {
	code, why = r.settleCode(code, why)
	r.exporter.Sample() // the last numbers
	r.record.Note(event.RunEnded, why, code)
	r.record.Close()
	if r.cfg.Report != "" || report.TakesWords(r.cfg.TerminationLog) { // the last line was printed before
		r.report.Goodput = r.goodput()
	}
	if path == "" || r.record == nil { // nothing has run
		return
	}
	text, err := r.record.Text()
	if err == nil {
		err = outfile.Write(path, text, event.Ours)
	}
	if err != nil {
		r.unwritten(fmt.Errorf("write events: %w", err))
	}
}

// goodputShown is the run time from which on the last line shows the goodput. That of a shorter run is
// mostly its start.
const goodputShown = time.Minute

// goodput returns the account of the events so far, or nil if there is none. It also keeps the attempts for
// the termination message.
func (r *runner) goodput() goodput.Account {
	reader := goodput.NewReader()
	r.report.Brief = event.Brief{}
	take := func(e event.Event) {
		reader.Take(e)
		r.report.Brief.Take(e)
	}
	if _, err := r.record.Each(take); err != nil {
		r.log.Warn("cannot compute the goodput", "error", err)
		return nil
	}
	if account := reader.Account(time.Now()); account.Total() > 0 {
		return account
	}
	return nil
}

// hearStarved records workers where the kernel kills processes for lack of memory.
func (r *runner) hearStarved() {
	r.tally.HearStarved(func(worker string, at time.Time) { r.record.WorkerAt(at, event.OutOfMemory, worker, "", "") })
}

// recordStart records which workers take part in an attempt that starts.
func (r *runner) recordStart(workers []rendezvous.Worker) {
	for _, w := range workers {
		r.record.Worker(event.CommandStarted, w.Name, w.Node, "")
	}
}

// recordRankEnd records the end of a process of a group.
func (r *runner) recordRankEnd(worker, label string, e group.End) {
	rank, how := rankOf(label), phrase.HowEnded(e.Exit.Code, e.Exit.Signal)
	if e.Err != nil {
		how = phrase.OneLine(e.Err)
	}
	if rank < 0 {
		how = label + " " + how
	}
	r.record.Rank(time.Now(), event.RankEnded, worker, rank, how)
}

// rankOf returns the rank of a process of a group, which may have joined, by its label. It returns
// event.NoRank for a process without one.
func rankOf(label string) (rank int) {
	if _, err := fmt.Sscanf(label, "rank %d", &rank); err != nil {
		return event.NoRank
	}
	return rank
}

// recordChecked records the result of a preflight.
func (r *runner) recordChecked(found []check.Finding) {
	for _, f := range found {
		if f.Verdict == check.Fail || f.Verdict == check.Warn {
			what := f.Check + ": " + f.Found
			if f.Worker == "" && f.Of != "" {
				what = f.Of + ": " + what
			}
			r.record.Worker(event.CheckProblem, f.Worker, f.Node, what)
		}
	}
	r.record.Note(event.Checked, "", 0)
}

// recordReplaced records that new pods have the places of these workers. Spares are recorded by
// seat.
func (r *runner) recordReplaced(gone []string) {
	if r.seats != nil {
		return
	}
	for _, name := range gone {
		r.record.Worker(event.Replaced, name, "", "a new pod")
	}
}

//go:build linux

package launch

import (
	"fmt"
	"io"
	"slices"

	"github.com/musterhq/muster/agent/archive"
	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/rendezvous"
)

// beginArchive begins an attempt in the directory of --output=dir=PATH or s3://. It opens the directory
// once in a run.
func (r *runner) beginArchive(attempt int) error {
	if r.archive == nil {
		w, err := archive.Open(r.kept.dir, archive.Run{ID: r.id, Job: r.cfg.Job, Namespace: r.cfg.Namespace, Version: build.Version()})
		if err != nil {
			return outputFailure(err)
		}
		r.archive = w
		r.beginUpload()
	}
	r.archive.Begin(attempt)
	return nil
}

// endArchive ends the run in that directory. A disk that is full has stopped the command as well, and
// was reported then.
func (r *runner) endArchive(code int, why string) {
	if r.archive == nil {
		return
	}
	err := r.archive.Close(code, why)
	r.archive = nil
	if err != nil && r.lostOutput.Err() == nil {
		r.unwritten(fmt.Errorf("--output: %w", err))
	}
}

// streamsOf returns the writers for the output of a process. They are nil if it is not shown.
func (r *runner) streamsOf(a *attempt, p plan.Process, printer *output.Printer) (stdout, stderr io.WriteCloser, err error) {
	if r.archive == nil || !printer.Shows(p.Rank) {
		stdout, stderr = printer.Streams(p.Rank, p.Label)
		return stdout, stderr, nil
	}
	worker, node := a.plan.Hosts[p.Worker].Name, ""
	if i := slices.IndexFunc(a.workers, func(w rendezvous.Worker) bool { return w.Name == worker }); i >= 0 {
		node = a.workers[i].Node
	}
	return r.archive.Streams(archive.Process{Label: p.Label, Rank: p.Rank, Worker: worker, Node: node})
}

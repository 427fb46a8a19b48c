//go:build linux

package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

// layTime bounds laying files on one worker. A link that is down for a moment recovers within it.
const layTime = time.Minute

// mostAnswer bounds the output of `agent lay`, in bytes.
const mostAnswer = 1 << 20

// layFiles lays the plan's files into a directory of each worker that has a process, and inserts
// the directories into the plan. Without files it opens nothing. Search paths extend the worker's
// own environment, which is unknown until then. A signal ends it, and the run.
func (r *runner) layFiles(ctx context.Context, planned *plan.Plan, user [][]string) error {
	if len(planned.Files) == 0 {
		return nil
	}
	request := wire.LayRequest{Ask: planned.Extended()}
	for _, f := range planned.Files {
		request.Files = append(request.Files, wire.LayFile{Name: f.Name, Data: f.Data})
	}
	text, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	until, stop := r.untilSignal(ctx)
	ctx, cancel := context.WithTimeoutCause(until, layTime, fmt.Errorf("no answer within %s", layTime))
	defer cancel()
	answers := make([]wire.LayAnswer, len(planned.Hosts))
	errs := make([]error, len(planned.Hosts))
	standings := r.links.Standings()
	var all sync.WaitGroup
	for i, host := range planned.Hosts {
		if slices.ContainsFunc(planned.Processes, func(p plan.Process) bool { return p.Worker == i }) {
			all.Go(func() { answers[i], errs[i] = r.layOn(ctx, standings[host.Name].Link, text) })
		}
	}
	all.Wait()
	stop()
	if told := toldIn(until); told != nil {
		r.hurry = true
		return told
	}
	dirs, theirs := make([]string, len(planned.Hosts)), make([][]string, len(planned.Hosts))
	for i, host := range planned.Hosts {
		if errs[i] != nil {
			return failure.New(codeOfLay(errs[i]), "", "lay files on worker %s: %w", host.Name, errs[i])
		}
		dirs[i] = answers[i].Dir
		for name, value := range answers[i].Env {
			theirs[i] = append(theirs[i], name+"="+value)
		}
		theirs[i] = append(theirs[i], user[i]...)
	}
	planned.SettleProcesses(r.cfg, theirs, dirs) // the warnings were already printed
	return nil
}

func codeOfLay(err error) int {
	if fleet.CauseOfLost(err) {
		return names.ExitHopeless
	}
	return names.ExitNotRunable
}

// layOn runs `agent lay` on one worker.
func (r *runner) layOn(ctx context.Context, l *link.Link, request []byte) (wire.LayAnswer, error) {
	var out, complaint bounded
	spec := wire.Spec{Argv: []string{r.fleet.Agent(), "lay"}}
	session, err := l.Open(ctx, "", spec, link.Streams{Stdin: io.NopCloser(bytes.NewReader(request)), Stdout: &out, Stderr: &complaint})
	if err != nil {
		return wire.LayAnswer{}, err
	}
	exit, err := session.Wait(ctx)
	var answer wire.LayAnswer
	switch {
	case err != nil:
		session.Stop(0)
		return answer, err
	case exit.Error != "":
		return answer, fmt.Errorf("%s", exit.Error)
	case exit.Code != 0:
		return answer, fmt.Errorf("agent lay %s: %s", phrase.HowEnded(exit.Code, exit.Signal), strings.TrimSpace(complaint.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return answer, fmt.Errorf("read its answer: %w", err)
	}
	return answer, nil
}

// bounded keeps what is written, up to mostAnswer.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer. Too much output is an error.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostAnswer {
		return 0, fmt.Errorf("more than %d bytes", mostAnswer)
	}
	return b.Buffer.Write(p)
}

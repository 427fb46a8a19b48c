//go:build linux

package session

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
	"github.com/musterhq/muster/exec/wire"
)

const (
	// mostStacks limits the texts of all answers to one question, in bytes.
	mostStacks = 1 << 20
	// mostThreads limits the threads that are reported for one rank.
	mostThreads = 32
	// longestStacks is how long a question about stacks may take.
	longestStacks = 10 * time.Second
)

// pythonPath is the variable with the directories in which Python looks for modules first.
const pythonPath = "PYTHONPATH="

// tellStacks prepares env so that Python processes report their stacks. env must have each variable
// only once.
func (o *observer) tellStacks(env []string) []string {
	o.mu.Lock()
	off := o.wants.noStacks || o.srv.cfg.PythonDir == ""
	o.mu.Unlock()
	if off {
		return env
	}
	for i, kv := range env {
		value, ok := strings.CutPrefix(kv, pythonPath)
		switch {
		case !ok:
			continue
		case value == "":
			env[i] = pythonPath + o.srv.cfg.PythonDir
		default:
			env[i] = pythonPath + o.srv.cfg.PythonDir + ":" + value
		}
		return env
	}
	return append(env, pythonPath+o.srv.cfg.PythonDir)
}

// askStacks answers a question about stacks in its own goroutine. While one such question is being
// answered, another one is not.
func (o *observer) askStacks(c *conn, rec wire.AskRecord) {
	live := o.srv.living()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stacking {
		return
	}
	o.stacking = true
	limit := min(max(time.Duration(rec.Millis)*time.Millisecond, 0), longestStacks)
	ctx, stop := context.WithTimeout(context.Background(), limit)
	o.srv.wg.Go(func() { // nobody waits for the answer once the connection has ended
		select {
		case <-c.gone:
			stop()
		case <-ctx.Done():
		}
	})
	o.srv.lookUp(func() { // it reads the sources and dumps of ranks
		defer stop()
		list, ras := o.stacksOf(ctx, live, rec)
		o.mu.Lock()
		o.stacking = false
		o.mu.Unlock()
		if len(ras) > 0 {
			c.record(wire.Answer, 0, wire.AnswerRecord{Seq: rec.Seq, RAS: ras, More: true})
		}
		for _, one := range list {
			c.record(wire.Answer, 0, wire.AnswerRecord{Seq: rec.Seq, Stacks: []wire.StackRecord{one}, More: true})
		}
		c.record(wire.Answer, 0, wire.AnswerRecord{Seq: rec.Seq})
	})
}

// stacksOf returns the stacks of the ranks of sessions. Each record fits into a frame, and their
// texts have at most mostStacks bytes together. ras is the report of NCCL's RAS service. A question
// with Polls looks for ranks that wait in MPI, and takes no stack if a rank has no MPI library.
func (o *observer) stacksOf(ctx context.Context, live []*session, asked wire.AskRecord) (list []wire.StackRecord, ras []byte) {
	var procs []reap.Proc
	for _, x := range live {
		members, err := x.tree.Find()
		if err != nil {
			continue // the caller misses the ranks of this session
		}
		for _, p := range reap.Ranks(members, syscall.SIGTERM) {
			one := wire.StackRecord{Session: x.id, Process: processRecord(p), MPI: usesMPI(p.PID)}
			if asked.Polls {
				one.MainCPU = mainTime(p.PID)
			}
			for _, t := range reap.Threads(p.PID, mostThreads) {
				one.Threads = append(one.Threads, wire.ThreadRecord{Command: t.Comm, Call: t.Call, Waiting: t.Waiting})
			}
			procs, list = append(procs, p), append(list, one)
		}
	}
	if asked.Polls && slices.ContainsFunc(list, func(r wire.StackRecord) bool { return !r.MPI }) {
		return list, nil
	}
	take := stacks.Take
	if asked.Programs != "" {
		take = stacks.Outside{Reaper: o.srv.cfg.Reaper, Slow: asked.Programs == wire.ProgramsAll}.Take
	}
	flights := make([]stacks.Flight, len(procs))
	var beside sync.WaitGroup
	if asked.Flight {
		beside.Go(func() { flights = stacks.Flights(ctx, procs) })
	}
	if asked.RAS {
		beside.Go(func() { ras = stacks.RAS(ctx, procs) })
	}
	all := take(ctx, procs)
	beside.Wait()
	room := mostStacks
	for i, taken := range all {
		one := &list[i]
		one.Text, one.Native, one.By, one.Why, one.OnRequest = taken.Text, taken.Native, taken.By, taken.Why, taken.OnRequest
		one.NoTerm = reap.HasNotGot(procs[i], syscall.SIGTERM)
		if room -= len(one.Text) + len(one.Native); room < 0 {
			one.Text, one.Native, one.By, one.Why = nil, nil, "", "the worker has more stacks than fit in an answer"
		}
		if f := flights[i]; f.Path != "" {
			one.Flight = &wire.FlightRecord{Path: f.Path, Bytes: f.Bytes, Why: f.Why}
		}
		if asked.Polls {
			one.Returned = taken.Returned
			if one.MPICall = stacks.MPICall(ctx, one.Process.PID, one.Text); one.MPICall != "" && !stacks.Nudge(procs[i]) {
				one.MPICall = "" // without a nudge, many calls would look like one
			}
		}
		bound(one)
	}
	return list, ras
}

// mainTime returns the processor time of a process's first thread in milliseconds; 0: unknown.
func mainTime(pid int) int64 {
	var buf bytes.Buffer
	return int64(reap.MainTicks(pid, &buf)) * reap.TickTime.Milliseconds()
}

// bound shortens a record so that it fits into a frame. A text always fits.
func bound(one *wire.StackRecord) {
	text, err := json.Marshal(one)
	if err == nil && len(text) <= answerRoom {
		return
	}
	one.Threads = nil
	if text, err = json.Marshal(one); err == nil && len(text) <= answerRoom {
		return
	}
	one.Flight = nil
}

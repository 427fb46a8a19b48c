//go:build linux

package supervise

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/hang/hangtest"
	"github.com/musterhq/muster/exec/wire"
)

// pollster is a worker of a stage whose rank is in an MPI call.
type pollster struct {
	hangtest.Worker
	does *pollDoing
}

// pollDoing says what the ranks of pollsters do.
type pollDoing struct {
	calls    map[string]string // MPI calls by rank; "": none
	line     int
	others   float64         // share of a processor that other threads of rank 1 use
	returned map[string]bool // the rank has run Python
	err      error
}

func (w pollster) Stacks(_ context.Context, asked wire.AskRecord) (wire.AnswerRecord, error) {
	if !asked.Polls {
		return wire.AnswerRecord{}, errors.New("another question")
	}
	var rec wire.StackRecord
	w.Change(func() {
		used := time.Since(w.Began).Seconds() * 1000
		p := wire.ProcessRecord{PID: 2, Start: 1, Command: "python", Rank: w.Name, State: "R", CPU: int64(used*w.CPU[w.Name]) + w.Used[w.Name]}
		if w.CPU[w.Name] == 0 {
			p.State, p.Call = "S", w.Call
		}
		rec = wire.StackRecord{Session: "s", MPI: true, Process: p, MPICall: w.does.calls[w.Name], MainCPU: p.CPU, Returned: w.does.returned[w.Name],
			Text: fmt.Appendf(nil, "Current thread 0x1 (most recent call first):\n  File \"/app/solve.py\", line %d in exchange\n", w.does.line)}
		if w.Name == "1" {
			rec.MainCPU -= int64(used * w.does.others)
		}
		delete(w.does.returned, w.Name)
	})
	return wire.AnswerRecord{Stacks: []wire.StackRecord{rec}}, w.does.err
}

// pollAndWatch runs a watch over ranks that poll, except for what set changes.
func pollAndWatch(t *testing.T, after time.Duration, ranks int, set func(s *hangtest.Stage, d *pollDoing), happens func(s *hangtest.Stage, d *pollDoing, w *hang.Watch, second int)) (said []string) {
	s, d := hangtest.New(), &pollDoing{calls: map[string]string{}, line: 40, returned: map[string]bool{}}
	for i := range ranks {
		s.CPU[fmt.Sprint(i)], d.calls[fmt.Sprint(i)] = 0.9, "Recv"
	}
	if set != nil {
		set(s, d)
	}
	out := &bytes.Buffer{}
	w := hang.NewWatch(after, func() map[string]hang.Asker {
		all := map[string]hang.Asker{}
		for i := range ranks {
			all[fmt.Sprint(i)] = pollster{hangtest.Worker{Stage: s, Name: fmt.Sprint(i)}, d}
		}
		return all
	})
	w.Wary = s.Wary
	sup := &Supervisor{Subject: Subject{Name: "train.py"}, trouble: func(string) {}, voice: &console.Voice{Out: out}, cfg: config.Config{Limits: config.Limits{HangAfter: after, HangAction: config.HangStop}, Origin: map[string]string{"hang-after": "flag"}}, links: &fleet.Links{}, Watches: Watches{Hang: w}}
	w.Wrote()
	w.Begin()
	began := time.Now()
	for second := 0; time.Since(began) < 3*time.Hour; second++ {
		if happens != nil {
			s.Change(func() { happens(s, d, w, second) })
		}
		select {
		case h := <-w.Tell():
			out.Reset()
			require.False(t, sup.onHang(h), "it is never stopped for it")
			require.Zero(t, sup.Hangs)
			line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
			said = append(said, fmt.Sprintf("%.0f min: %s", time.Since(began).Minutes(), bytes.TrimPrefix(line, []byte("agent: "))))
		case <-time.After(time.Second):
		}
	}
	w.End()
	if len(said) > 0 && !s.Wary {
		require.NotEmpty(t, sup.Blames)
		require.Equal(t, "suspicion", sup.Blames[0].When)
	}
	return said
}

const (
	allPoll = "train.py may hang: for 600 s nothing was printed, read or written, and all 3 ranks use a processor at solve.py:40 exchange (MPI Recv)"
	goesOn  = "train.py makes progress again"
)

// TestRanksThatPoll checks that the suspicion is reported once, and that a run that moves again is
// reported.
func TestRanksThatPoll(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(s *hangtest.Stage, d *pollDoing)
		happens func(s *hangtest.Stage, d *pollDoing, w *hang.Watch, second int)
		want    []string
	}{
		"all are in one call": {want: []string{"15 min: " + allPoll}},
		"nobody has asked":    {set: func(s *hangtest.Stage, _ *pollDoing) { s.Wary = true }, want: []string{"15 min: " + allPoll}},
		"in two calls": {set: func(_ *hangtest.Stage, d *pollDoing) { d.calls["2"] = "Barrier" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and all 3 ranks use a processor in MPI: rank 2 on 2 at solve.py:40 exchange (MPI Barrier), ranks 0, 1 at solve.py:40 exchange (MPI Recv)"}},
		"one sits still": {set: func(s *hangtest.Stage, d *pollDoing) { s.CPU["1"], d.calls["1"] = 0, "" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and 2 of 3 ranks use a processor at solve.py:40 exchange (MPI Recv)"}},
		"and goes on": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "73 min: " + allPoll},
			happens: func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch, second int) {
				if second == 59*60 {
					d.returned["0"] = true
				}
			}},
		"and prints": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "72 min: " + allPoll},
			happens: func(_ *hangtest.Stage, _ *pollDoing, w *hang.Watch, second int) {
				if second == 59*60 {
					w.Wrote()
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, row.want, pollAndWatch(t, 10*time.Minute, 3, row.set, row.happens))
			})
		})
	}
}

// TestRanksThatDoNotPoll has runs where something shows that a rank may be at work.
func TestRanksThatDoNotPoll(t *testing.T) {
	every := func(seconds int, f func(s *hangtest.Stage, d *pollDoing, w *hang.Watch)) func(*hangtest.Stage, *pollDoing, *hang.Watch, int) {
		return func(s *hangtest.Stage, d *pollDoing, w *hang.Watch, second int) {
			if second%seconds == 0 {
				f(s, d, w)
			}
		}
	}
	for name, row := range map[string]struct {
		ranks   int
		set     func(s *hangtest.Stage, d *pollDoing)
		happens func(s *hangtest.Stage, d *pollDoing, w *hang.Watch, second int)
	}{
		"one computes":                 {set: func(_ *hangtest.Stage, d *pollDoing) { d.calls["1"] = "" }},
		"a thread of one computes":     {set: func(_ *hangtest.Stage, d *pollDoing) { d.others = 0.5 }},
		"one calls again and again":    {happens: every(60, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.returned["1"] = true })},
		"a call returns now and then":  {happens: every(500, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.returned["2"] = true })},
		"they go to another line":      {happens: every(500, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.line++ })},
		"one reads its data":           {happens: every(1, func(s *hangtest.Stage, _ *pollDoing, _ *hang.Watch) { s.Moved["1"] += 64 << 10 })},
		"output now and then":          {happens: every(500, func(_ *hangtest.Stage, _ *pollDoing, w *hang.Watch) { w.Wrote() })},
		"processes come and go":        {happens: every(400, func(s *hangtest.Stage, _ *pollDoing, _ *hang.Watch) { s.Extra = 1 - s.Extra })},
		"our own reader does not read": {set: func(s *hangtest.Stage, _ *pollDoing) { s.Wait = 100 }},
		"one that sits still may serve": {set: func(s *hangtest.Stage, d *pollDoing) {
			s.Wary, s.CPU["1"], d.calls["1"], s.Call = true, 0, "", "epoll_wait"
		}},
		"a worker cannot tell": {set: func(_ *hangtest.Stage, d *pollDoing) {
			d.err = errors.New("the agent of the worker is too old to take stacks")
		}},
		"a worker cannot be asked": {set: func(s *hangtest.Stage, _ *pollDoing) { s.Err["1"] = errors.New("the link is down") }},
		"there is one rank alone":  {ranks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Empty(t, pollAndWatch(t, 10*time.Minute, cmp.Or(row.ranks, 3), row.set, row.happens))
			})
		})
	}
}

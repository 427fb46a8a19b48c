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

// pollDoing describes what the ranks of pollsters do.
type pollDoing struct {
	calls    map[string]string // MPI calls by rank; "" means no call
	line     int
	others   float64         // share of a processor that other threads of rank 1 use
	returned map[string]bool // the rank has run Python
	err      error
}

func (w pollster) Stacks(_ context.Context, asked wire.AskRecord) (wire.AnswerRecord, error) {
	if !asked.Polls {
		return wire.AnswerRecord{}, errors.New("unexpected question")
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

// pollAndWatch runs a watch over ranks that all poll in an MPI call, apart from what set changes.
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
			require.False(t, sup.onHang(h), "a suspicion must never stop the run")
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

// TestRanksThatPoll checks that the suspicion is reported once, and that the end of the hang is
// reported.
func TestRanksThatPoll(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(s *hangtest.Stage, d *pollDoing)
		happens func(s *hangtest.Stage, d *pollDoing, w *hang.Watch, second int)
		want    []string
	}{
		"all ranks are in one call": {want: []string{"15 min: " + allPoll}},
		"the default watch":         {set: func(s *hangtest.Stage, _ *pollDoing) { s.Wary = true }, want: []string{"15 min: " + allPoll}},
		"ranks are in two calls": {set: func(_ *hangtest.Stage, d *pollDoing) { d.calls["2"] = "Barrier" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and all 3 ranks use a processor in MPI: rank 2 on 2 at solve.py:40 exchange (MPI Barrier), ranks 0, 1 at solve.py:40 exchange (MPI Recv)"}},
		"one rank sleeps": {set: func(s *hangtest.Stage, d *pollDoing) { s.CPU["1"], d.calls["1"] = 0, "" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and 2 of 3 ranks use a processor at solve.py:40 exchange (MPI Recv)"}},
		"then a rank continues": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "73 min: " + allPoll},
			happens: func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch, second int) {
				if second == 59*60 {
					d.returned["0"] = true
				}
			}},
		"then a rank prints": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "72 min: " + allPoll},
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

// TestRanksThatDoNotPoll checks that nothing is reported if anything shows that a rank may be
// working.
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
		"one rank computes":                      {set: func(_ *hangtest.Stage, d *pollDoing) { d.calls["1"] = "" }},
		"another thread of a rank computes":      {set: func(_ *hangtest.Stage, d *pollDoing) { d.others = 0.5 }},
		"one rank repeats its call":              {happens: every(60, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.returned["1"] = true })},
		"a call returns now and then":            {happens: every(500, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.returned["2"] = true })},
		"ranks move to another line":             {happens: every(500, func(_ *hangtest.Stage, d *pollDoing, _ *hang.Watch) { d.line++ })},
		"one rank reads its data":                {happens: every(1, func(s *hangtest.Stage, _ *pollDoing, _ *hang.Watch) { s.Moved["1"] += 64 << 10 })},
		"output now and then":                    {happens: every(500, func(_ *hangtest.Stage, _ *pollDoing, w *hang.Watch) { w.Wrote() })},
		"processes start and end":                {happens: every(400, func(s *hangtest.Stage, _ *pollDoing, _ *hang.Watch) { s.Extra = 1 - s.Extra })},
		"the reader of our output does not read": {set: func(s *hangtest.Stage, _ *pollDoing) { s.Wait = 100 }},
		"a sleeping rank may be a server": {set: func(s *hangtest.Stage, d *pollDoing) {
			s.Wary, s.CPU["1"], d.calls["1"], s.Call = true, 0, "", "epoll_wait"
		}},
		"a worker is too old": {set: func(_ *hangtest.Stage, d *pollDoing) {
			d.err = errors.New("the agent of the worker is too old to take stacks")
		}},
		"a worker cannot be asked": {set: func(s *hangtest.Stage, _ *pollDoing) { s.Err["1"] = errors.New("the link is down") }},
		"there is only one rank":   {ranks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Empty(t, pollAndWatch(t, 10*time.Minute, cmp.Or(row.ranks, 3), row.set, row.happens))
			})
		})
	}
}

//go:build linux

package launch

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
	"github.com/musterhq/muster/exec/wire"
)

// pollster is a worker of a stage whose rank is in a call of MPI.
type pollster struct {
	seated
	does *pollDoing
}

// pollDoing is what the ranks of pollsters do.
type pollDoing struct {
	calls    map[string]string // of MPI; "": none
	line     int
	others   float64         // share of a processor that other threads of rank 1 use
	returned map[string]bool // the rank has run Python
	err      error
}

func (w pollster) Stacks(_ context.Context, asked wire.AskRecord) (wire.AnswerRecord, error) {
	if !asked.Polls {
		return wire.AnswerRecord{}, errors.New("another question")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	used := time.Since(w.began).Seconds() * 1000
	p := wire.ProcessRecord{PID: 2, Start: 1, Command: "python", Rank: w.name, State: "R", CPU: int64(used*w.cpu[w.name]) + w.used[w.name]}
	if w.cpu[w.name] == 0 {
		p.State, p.Call = "S", w.call
	}
	rec := wire.StackRecord{Session: "s", MPI: true, Process: p, MPICall: w.does.calls[w.name], MainCPU: p.CPU, Returned: w.does.returned[w.name],
		Text: fmt.Appendf(nil, "Current thread 0x1 (most recent call first):\n  File \"/app/solve.py\", line %d in exchange\n", w.does.line)}
	if w.name == "1" {
		rec.MainCPU -= int64(used * w.does.others)
	}
	delete(w.does.returned, w.name)
	return wire.AnswerRecord{Stacks: []wire.StackRecord{rec}}, w.does.err
}

// pollAndWatch runs a watch over three ranks that poll, but for what set says.
func pollAndWatch(t *testing.T, after time.Duration, ranks int, set func(s *stage, d *pollDoing), happens func(s *stage, d *pollDoing, w *hangWatch, second int)) (said []string) {
	s, d := newStage(), &pollDoing{calls: map[string]string{}, line: 40, returned: map[string]bool{}}
	for i := range ranks {
		s.cpu[fmt.Sprint(i)], d.calls[fmt.Sprint(i)] = 0.9, "Recv"
	}
	if set != nil {
		set(s, d)
	}
	out := &bytes.Buffer{}
	w := newHangWatch(after, func() map[string]asker {
		all := map[string]asker{}
		for i := range ranks {
			all[fmt.Sprint(i)] = pollster{seated{s, fmt.Sprint(i)}, d}
		}
		return all
	})
	w.wary = s.wary
	sup := &supervisor{name: "train.py", trouble: func(string) {}, voice: &console.Voice{Out: out}, cfg: config.Config{Limits: config.Limits{HangAfter: after, HangAction: config.HangStop}, Origin: map[string]string{"hang-after": "flag"}}, links: &links{}, hang: w}
	w.wrote()
	w.begin()
	began := time.Now()
	for second := 0; time.Since(began) < 3*time.Hour; second++ {
		if happens != nil {
			s.change(func() { happens(s, d, w, second) })
		}
		select {
		case h := <-w.tell():
			out.Reset()
			require.False(t, sup.onHang(h), "it is never stopped for it")
			require.Zero(t, sup.hangs)
			line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
			said = append(said, fmt.Sprintf("%.0f min: %s", time.Since(began).Minutes(), bytes.TrimPrefix(line, []byte("agent: "))))
		case <-time.After(time.Second):
		}
	}
	w.end()
	if len(said) > 0 && !s.wary {
		require.NotEmpty(t, sup.blames)
		require.Equal(t, "suspicion", sup.blames[0].When)
	}
	return said
}

const (
	allPoll = "train.py may hang: for 600 s nothing was printed, read or written, and all 3 ranks use a processor at solve.py:40 exchange (MPI Recv)"
	goesOn  = "train.py goes on: something moves again"
)

// TestRanksThatPoll: the suspicion comes once, and what moves again is said.
func TestRanksThatPoll(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(s *stage, d *pollDoing)
		happens func(s *stage, d *pollDoing, w *hangWatch, second int)
		want    []string
	}{
		"all are in one call": {want: []string{"15 min: " + allPoll}},
		"nobody has asked":    {set: func(s *stage, _ *pollDoing) { s.wary = true }, want: []string{"15 min: " + allPoll}},
		"in two calls": {set: func(_ *stage, d *pollDoing) { d.calls["2"] = "Barrier" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and all 3 ranks use a processor in MPI: rank 2 on 2 at solve.py:40 exchange (MPI Barrier), ranks 0, 1 at solve.py:40 exchange (MPI Recv)"}},
		"one sits still": {set: func(s *stage, d *pollDoing) { s.cpu["1"], d.calls["1"] = 0, "" },
			want: []string{"15 min: train.py may hang: for 600 s nothing was printed, read or written, and 2 of 3 ranks use a processor at solve.py:40 exchange (MPI Recv)"}},
		"and goes on": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "73 min: " + allPoll},
			happens: func(_ *stage, d *pollDoing, _ *hangWatch, second int) {
				if second == 59*60 {
					d.returned["0"] = true
				}
			}},
		"and prints": {want: []string{"15 min: " + allPoll, "60 min: " + goesOn, "72 min: " + allPoll},
			happens: func(_ *stage, _ *pollDoing, w *hangWatch, second int) {
				if second == 59*60 {
					w.wrote()
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

// TestRanksThatDoNotPoll are runs where something tells that a rank may be at work.
func TestRanksThatDoNotPoll(t *testing.T) {
	every := func(seconds int, f func(s *stage, d *pollDoing, w *hangWatch)) func(*stage, *pollDoing, *hangWatch, int) {
		return func(s *stage, d *pollDoing, w *hangWatch, second int) {
			if second%seconds == 0 {
				f(s, d, w)
			}
		}
	}
	for name, row := range map[string]struct {
		ranks   int
		set     func(s *stage, d *pollDoing)
		happens func(s *stage, d *pollDoing, w *hangWatch, second int)
	}{
		"one computes":                  {set: func(_ *stage, d *pollDoing) { d.calls["1"] = "" }},
		"a thread of one computes":      {set: func(_ *stage, d *pollDoing) { d.others = 0.5 }},
		"one calls again and again":     {happens: every(60, func(_ *stage, d *pollDoing, _ *hangWatch) { d.returned["1"] = true })},
		"a call returns now and then":   {happens: every(500, func(_ *stage, d *pollDoing, _ *hangWatch) { d.returned["2"] = true })},
		"they go to another line":       {happens: every(500, func(_ *stage, d *pollDoing, _ *hangWatch) { d.line++ })},
		"one reads its data":            {happens: every(1, func(s *stage, _ *pollDoing, _ *hangWatch) { s.moved["1"] += 64 << 10 })},
		"output now and then":           {happens: every(500, func(_ *stage, _ *pollDoing, w *hangWatch) { w.wrote() })},
		"processes come and go":         {happens: every(400, func(s *stage, _ *pollDoing, _ *hangWatch) { s.extra = 1 - s.extra })},
		"our own reader does not read":  {set: func(s *stage, _ *pollDoing) { s.wait = 100 }},
		"one that sits still may serve": {set: func(s *stage, d *pollDoing) { s.wary, s.cpu["1"], d.calls["1"], s.call = true, 0, "", "epoll_wait" }},
		"a worker cannot tell":          {set: func(_ *stage, d *pollDoing) { d.err = errors.New("its agent is too old to take stacks") }},
		"a worker cannot be asked":      {set: func(s *stage, _ *pollDoing) { s.err["1"] = errors.New("its link is down") }},
		"there is one rank alone":       {ranks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Empty(t, pollAndWatch(t, 10*time.Minute, cmp.Or(row.ranks, 3), row.set, row.happens))
			})
		})
	}
}

//go:build linux

package session

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// saving is a stop of ranks only: their launcher runs elsewhere, and ends last.
type saving struct {
	number uint64    // guarded by the server's mu
	until  time.Time // when its grace is over
	cancel context.CancelFunc
	asked  chan struct{}    // closed when the ranks have been asked
	over   chan struct{}    // closed when the ranks have ended, or the last part of the grace begins
	savers []reap.Proc      // set when asked is closed
	answer wire.RanksRecord // set when over is closed
}

// Limits of the ranks in an answer or an exit record: their count, and their bytes of JSON.
const (
	mostEnded     = 512
	mostOfRanks   = wire.MaxRecord - 8<<10
	longestEnding = len(`{"rank":"","afterMillis":9223372036854775807,"killed":true},`) // and its number
)

// withinRecord returns the first of the ranks, as many as fit into a record. The ranks choose their
// numbers, and JSON may escape a byte as six.
func withinRecord(all []wire.EndingRank) []wire.EndingRank {
	room := mostOfRanks
	for i, r := range all {
		if room -= longestEnding + 6*len(r.Rank); room < 0 {
			return all[:i]
		}
	}
	return all
}

// endRanks asks the ranks of all sessions to end, unless it has done so for this number. It answers
// at once, or when the ranks have ended.
func (st *stopper) endRanks(c *conn, seq uint64, rec wire.EndRanksRecord) {
	st.srv.mu.Lock()
	defer st.srv.mu.Unlock()
	if st.srv.conn != c {
		return
	}
	if st.leaving != nil {
		st.leaving.led()
	}
	if st.saving == nil || st.saving.number < rec.Number {
		st.saving = st.askRanksLocked(rec)
	}
	one, until := st.saving, st.saving.asked
	if rec.Wait {
		until = one.over
	}
	st.srv.owed++
	st.srv.wg.Go(func() {
		defer func() {
			st.srv.mu.Lock()
			st.srv.owed--
			st.srv.mu.Unlock()
		}()
		select {
		case <-until:
		case <-c.gone:
			return
		}
		answer := livingRanks(reap.Apart(one.savers))
		if rec.Wait {
			answer = one.answer
		}
		c.record(wire.Answer, 0, wire.AnswerRecord{Seq: seq, Ranks: &answer})
		c.flush()
	})
}

// askRanksLocked begins a stop of ranks. If the worker is already being stopped, its ranks have
// been asked, and the result waits for the end of that stop or of its first part. The caller holds
// srv.mu.
func (st *stopper) askRanksLocked(rec wire.EndRanksRecord) *saving {
	if st.leaving != nil {
		one := st.leaving.saving
		one.number = rec.Number
		return one
	}
	grace := graceOf(rec.GraceMillis)
	ctx, cancel := st.patience(grace)
	one := &saving{number: rec.Number, until: time.Now().Add(grace), cancel: cancel, asked: make(chan struct{}), over: make(chan struct{})}
	var all []*session
	for _, x := range st.srv.sessions {
		if x.lives() {
			x.ours.Store(true)
			all = append(all, x)
		}
	}
	fences := make([]<-chan struct{}, 0, len(st.fences))
	for _, fence := range st.fences {
		fences = append(fences, fence)
	}
	st.srv.wg.Go(func() {
		defer close(one.over)
		defer cancel()
		if len(fences) > 0 {
			close(one.asked)
			awaitAll(ctx, fences)
			return
		}
		one.answer = st.askRanks(ctx, all, rec, grace, func(savers []reap.Proc) {
			one.savers = savers
			close(one.asked)
		})
	})
	return one
}

func awaitAll(ctx context.Context, all []<-chan struct{}) {
	for _, one := range all {
		select {
		case <-one:
		case <-ctx.Done():
		}
	}
}

func (st *stopper) askRanks(ctx context.Context, all []*session, rec wire.EndRanksRecord, grace time.Duration, asked func(savers []reap.Proc)) wire.RanksRecord {
	awaitStarts(ctx, all)
	for _, x := range all {
		st.srv.observer.lookAt(x) // earlier ends were not caused by us
	}
	report, err := st.srv.cfg.Reaper.Ask(ctx, processesOf(all), syscall.Signal(rec.Signal), grace, asked)
	if err != nil && ctx.Err() == nil {
		st.srv.cfg.Log.Warn("cannot ask ranks to end", "err", err)
	}
	if len(all) == 1 { // with several sessions, ranks are not assigned to sessions
		all[0].noteAsked(report.Ranks)
	}
	return wire.RanksRecord{Asked: len(report.Ranks), Living: report.Others, Ranks: endedRanks(report.Ranks)}
}

// livingRanks returns the record of ranks that have just been asked.
func livingRanks(ranks []reap.Proc) wire.RanksRecord {
	all := wire.RanksRecord{Asked: len(ranks)}
	for _, p := range ranks[:min(len(ranks), mostEnded)] {
		all.Ranks = append(all.Ranks, wire.EndingRank{Rank: p.Numbers.Rank(), Lives: true})
	}
	all.Ranks = withinRecord(all.Ranks)
	return all
}

// endedRanks converts outcomes for a record.
func endedRanks(outcomes []reap.Outcome) (all []wire.EndingRank) {
	for _, o := range outcomes[:min(len(outcomes), mostEnded)] {
		all = append(all, wire.EndingRank{Rank: o.Rank, AfterMillis: o.After.Milliseconds(), Lives: !o.Ended() && !o.Killed, Killed: o.Killed})
	}
	return withinRecord(all)
}

// awaitSaving waits until ranks that were asked have ended, up to the last part of grace: another
// signal would disturb them. It returns the rest of grace.
func (st *stopper) awaitSaving(ctx context.Context, grace time.Duration) time.Duration {
	st.srv.mu.Lock()
	one := st.saving
	own := st.leaving != nil && one == st.leaving.saving
	st.srv.mu.Unlock()
	if one == nil || own {
		return grace
	}
	began := time.Now()
	st.awaitStop(ctx, one.over, grace-reap.LastPart(grace))
	return max(0, grace-time.Since(began))
}

// noteAsked records the outcomes of ranks that a stop of x has asked to end. It keeps ranks that
// another stop asked earlier.
func (x *session) noteAsked(outcomes []reap.Outcome) {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	before := x.asked
	if before == nil {
		x.askedAt = time.Now()
	}
	x.asked = endedRanks(outcomes)
	for _, was := range before {
		i := slices.IndexFunc(x.asked, func(r wire.EndingRank) bool { return r.Rank == was.Rank })
		switch {
		case i < 0 && len(x.asked) < mostEnded:
			x.asked = append(x.asked, was)
		case i >= 0 && was.Killed: // by another stop
			x.asked[i] = was
		}
	}
	x.asked = withinRecord(x.asked)
}

// noteKilled records that asked ranks which are still alive are killed.
func (x *session) noteKilled() {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	for i := range x.asked {
		if r := &x.asked[i]; r.Lives {
			r.Killed, r.Lives, r.AfterMillis = true, false, time.Since(x.askedAt).Milliseconds()
		}
	}
}

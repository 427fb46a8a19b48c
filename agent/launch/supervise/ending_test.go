package supervise

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/phrase"
)

func TestEndingSignals(t *testing.T) {
	var e ending
	now := time.Now()
	require.Negative(t, e.wait())
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		forward, changed := e.onSignal(sig, time.Second, now)
		require.True(t, forward, sig)
		require.False(t, changed, sig)
	}
	require.Zero(t, e.told)

	forward, changed := e.onSignal(syscall.SIGTERM, 10*time.Second, now)
	require.True(t, forward)
	require.True(t, changed)
	require.Equal(t, 15, e.told)
	require.Equal(t, 10*time.Second, e.wait())

	forward, changed = e.onSignal(syscall.SIGTERM, 10*time.Second, now.Add(SameSignal-1))
	require.False(t, forward, "timeout(1) sends the signal twice, so the repetition is ignored")
	require.False(t, changed)

	forward, changed = e.onSignal(syscall.SIGINT, 10*time.Second, now.Add(SameSignal))
	require.False(t, forward, "the second signal kills")
	require.True(t, changed)
	require.Equal(t, 15, e.told, "the first signal is the reason")
	require.Zero(t, e.wait())
	sig, ok := e.next()
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, sig)
	_, ok = e.next()
	require.False(t, ok)
}

func TestEndingLost(t *testing.T) {
	var e ending
	require.True(t, e.onLost(time.Minute))
	require.Equal(t, lostPatience, e.wait())
	sig, _ := e.next()
	require.Equal(t, syscall.SIGTERM, sig)
	require.Equal(t, LostGrace, e.wait(), "a long grace does not delay the end after a loss")
	require.False(t, e.onLost(time.Minute), "a second loss does not restart the schedule")
	sig, _ = e.next()
	require.Equal(t, syscall.SIGKILL, sig)
	require.LessOrEqual(t, lostPatience+LostGrace, 10*time.Second)

	var silent ending
	require.True(t, silent.onLost(time.Minute))
	silent.hurry()
	require.Zero(t, silent.wait())
	sig, _ = silent.next()
	require.Equal(t, syscall.SIGTERM, sig)
	silent.hurry()
	require.Equal(t, hurriedGrace, silent.wait(), "part of the grace is kept")

	var told ending
	told.onSignal(syscall.SIGTERM, time.Minute, time.Now())
	require.False(t, told.onLost(time.Minute), "a loss during a stop changes nothing")
	require.Equal(t, time.Minute, told.wait())

	var short ending
	short.onLost(time.Second)
	short.next()
	require.Equal(t, time.Second, short.wait())
}

// TestEndingGoingDown checks that the ranks get the grace of the worker that is going down, and
// that the loss of that worker does not shorten it.
func TestEndingGoingDown(t *testing.T) {
	var e ending
	require.True(t, e.onGoingDown(20*time.Second))
	require.Equal(t, 20*time.Second, e.wait())
	require.False(t, e.onLost(time.Minute))
	require.False(t, e.onTrouble(time.Second, time.Minute))
	require.False(t, e.onRestart(time.Minute))
	require.False(t, e.onGoingDown(time.Minute), "a second worker that goes down changes nothing")
	require.Equal(t, 20*time.Second, e.wait())
	require.True(t, e.phase.lost())

	_, changed := e.onSignal(syscall.SIGTERM, 10*time.Second, time.Now())
	require.True(t, changed)
	require.Equal(t, 10*time.Second, e.wait())

	for name, prepare := range map[string]func(e *ending){
		"told":          func(e *ending) { e.onSignal(syscall.SIGTERM, time.Minute, time.Now()) },
		"lost":          func(e *ending) { e.onLost(time.Minute) },
		"trouble":       func(e *ending) { e.onTrouble(time.Second, time.Minute) },
		"restart":       func(e *ending) { e.onRestart(time.Minute) },
		"no grace left": func(*ending) {},
	} {
		var e ending
		prepare(&e)
		grace := 20 * time.Second
		if name == "no grace left" {
			grace = 0
		}
		before := e.wait()
		require.False(t, e.onGoingDown(grace), name)
		require.Equal(t, before, e.wait(), name)
	}
}

func TestEndingOnTrouble(t *testing.T) {
	var e ending
	require.True(t, e.onTrouble(troublePatience, 10*time.Second))
	require.False(t, e.onTrouble(troublePatience, 10*time.Second), "a second trouble changes nothing")
	require.Equal(t, troublePatience, e.wait())
	require.True(t, e.onLost(10*time.Second), "a lost worker ends the run sooner")
	require.Equal(t, lostPatience, e.wait())
	e = ending{}
	_, _ = e.onSignal(15, time.Second, time.Now())
	require.False(t, e.onTrouble(troublePatience, time.Second), "already told to stop")
}

func TestHangBeginsTheEnd(t *testing.T) {
	var e ending
	require.True(t, e.onHang(5*time.Second))
	require.False(t, e.onTrouble(time.Second, time.Second), "ranks that end now end because of the stop")
	sig, ok := e.next()
	require.True(t, ok)
	require.Equal(t, "SIGTERM", phrase.SignalName(int(sig)))
	require.Equal(t, 5*time.Second, e.wait())
	told := ending{phase: phaseTold, told: 15}
	require.False(t, told.onHang(time.Second))
}

// TestPhases checks the next phase for each event, and whether the event changes the schedule.
func TestPhases(t *testing.T) {
	type move struct {
		next       phase
		reschedule bool
	}
	for from, row := range map[phase]map[turn]move{
		phaseRuns: {eventStop: {phaseTold, true}, eventLost: {phaseLost, true}, eventTrouble: {phaseIll, true}, eventHang: {phaseIll, true},
			eventRestart: {phaseRestart, true}, eventGoing: {phaseGoing, true}, eventStopLate: {phaseOver, false}},
		phaseRestart: {eventStop: {phaseTold, true}, eventLost: {phaseLost, true}, eventTrouble: {phaseIll, true}, eventHang: {phaseIll, true},
			eventRestart: {phaseRestart, true}, eventStopLate: {phaseOver, false}},
		phaseIll:       {eventStop: {phaseToldIll, true}, eventLost: {phaseLost, true}, eventStopLate: {phaseOver, false}},
		phaseLost:      {eventStop: {phaseToldLost, true}, eventStopLate: {phaseOver, false}},
		phaseGoing:     {eventStop: {phaseTold, true}, eventLost: {phaseGoingLost, false}, eventHang: {phaseGoingIll, true}, eventStopLate: {phaseOver, false}},
		phaseGoingIll:  {eventStop: {phaseToldIll, true}, eventLost: {phaseGoingLost, false}, eventStopLate: {phaseOver, false}},
		phaseGoingLost: {eventStop: {phaseToldLost, true}, eventStopLate: {phaseOver, false}},
		phaseTold:      {eventStop: {phaseTold, true}, eventLost: {phaseToldLost, false}},
		phaseToldIll:   {eventStop: {phaseToldIll, true}, eventLost: {phaseToldLost, false}},
		phaseToldLost:  {eventStop: {phaseToldLost, true}},
		phaseOver:      {},
	} {
		for e := eventStop; e <= eventStopLate; e++ {
			want, known := row[e]
			if !known {
				want = move{from, false}
			}
			next, reschedule := from.transition(e)
			require.Equal(t, want, move{next, reschedule}, "event %d in phase %d", e, from)
		}
	}
}

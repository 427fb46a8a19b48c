package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/fault/server"
)

// strike is the planned fault of one run.
type strike struct {
	leg     *leg.Strike // nil for an answer to the first dial
	answers bool        // the fault is complete when an answer has been given
	given   atomic.Bool
}

func (s *strike) struck() bool {
	if s.answers {
		return s.given.Load()
	}
	return s.leg.Struck()
}

// await waits until the fault has happened. The faults of the last moment happen after the session's end.
func (s *strike) await(ctx context.Context) error {
	for range 2500 {
		if s.struck() {
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the moment did not come")
}

// prepare plans the fault of c before the link is started.
func (r *rig) prepare(rng *rand.Rand, c cell, what load) *strike {
	s := &strike{answers: c.Fault.answer() != 0}
	var answers []server.Answer
	if s.answers {
		for range 1 + rng.IntN(2) {
			a := server.Answer{Code: c.Fault.answer(), Given: func() { s.given.Store(true) }}
			if c.Fault == refused {
				a.Plain, a.Code = true, []int{400, 403, 500}[rng.IntN(3)]
			}
			answers = append(answers, a)
		}
		if c.Moment == beforeHello {
			r.pod.Refuse(c.Leg, answers...)
			return s
		}
	}
	s.leg = &leg.Strike{Fault: leg.Fault(c.Fault)}
	if s.answers { // the connection ends at the moment, and the redial gets the answers
		s.leg.Fault = leg.RST
		s.leg.Begin = func() { r.pod.Refuse(c.Leg, answers...) }
	}
	if s.leg.Fault == leg.Stall {
		s.leg.OneWay = rng.IntN(3) == 0
	}
	r.aim(rng, c, what, s.leg)
	return s
}

// aim arms a strike for the cell's moment.
func (r *rig) aim(rng *rand.Rand, c cell, what load, s *leg.Strike) {
	at := func(tap *leg.Tap, way leg.Way, w leg.Watch) {
		part := rng.Float64() // the part of the frame that still passes
		if rng.IntN(4) == 0 {
			part = 0
		}
		tap.On(w, func(length int) {
			s.Way, s.After = way, int(part*float64(length))
			r.legs[c.Leg].Arm(s)
		})
	}
	either := rng.IntN(2) == 0
	if _, real := r.worker.(*process); real && r.lan != nil {
		// Its bytes are sealed, and there is no tap at its end: what it sends is found by counting.
		either = c.Moment == create || either && c.Moment == beforeHello
		if c.Moment == midStdout {
			s.Way, s.After = leg.Up, 100+rng.IntN(what.stdout)
			r.down.On(leg.Watch{Type: wire.Open}, func(int) { r.legs[c.Leg].Arm(s) })
			return
		}
	}
	switch c.Moment {
	case beforeHello:
		if either {
			at(r.down, leg.Down, leg.Watch{Type: wire.Hello})
			return
		}
		// The fault strikes while the connection is made: within the requests and answers, or, on the leg without
		// HTTP, within the header of HELLO.
		s.After = rng.IntN(wire.HeaderLen)
		if c.Leg != bridgeLeg {
			s.Way, s.After = leg.Way(rng.IntN(2)), rng.IntN(100)
		}
		r.legs[c.Leg].ArmNext(s)
	case create:
		if either {
			at(r.down, leg.Down, leg.Watch{Type: wire.Open})
		} else {
			at(r.up, leg.Up, leg.Watch{Type: wire.Opened})
		}
	case midStdout:
		at(r.up, leg.Up, leg.Watch{Type: wire.Data, Stream: wire.Stdout, Offset: rng.Uint64N(uint64(what.stdout))})
	case midStdin:
		at(r.down, leg.Down, leg.Watch{Type: wire.Data, Stream: wire.Stdin, Offset: rng.Uint64N(uint64(what.stdin))})
	case afterExit:
		if either {
			at(r.up, leg.Up, leg.Watch{Type: wire.Exit})
		} else {
			at(r.down, leg.Down, leg.Watch{Type: wire.Forget})
		}
	}
}

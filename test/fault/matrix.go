package main

import (
	"fmt"
	"hash/fnv"

	"github.com/musterhq/muster/test/fault/leg"
)

// fault is what happens: one of package leg's, or an answer.
type fault string

// Answers. "refused" is an upgrade that is not understood: 400, 403 or 500 as
// plain text.
const (
	answer401 fault = "401"
	answer403 fault = "403"
	answer404 fault = "404"
	answer429 fault = "429"
	answer500 fault = "500"
	refused   fault = "upgrade refused"
)

var faults = []fault{
	fault(leg.FIN), fault(leg.RST), fault(leg.Stall), fault(leg.Throttle), fault(leg.Bytewise),
	fault(leg.Close1000), fault(leg.Forge), answer401, answer403, answer404, answer429, answer500, refused,
}

// answer is the HTTP status of f, 0 for what is no answer.
func (f fault) answer() int {
	return map[fault]int{answer401: 401, answer403: 403, answer404: 404, answer429: 429, answer500: 500, refused: 400}[f]
}

// moment is when it happens.
type moment string

// Moments of a session. What a frame is struck by lands before its first byte,
// or anywhere within.
const (
	beforeHello moment = "before HELLO"    // while dialling, or as HELLO is sent
	create      moment = "during create"   // at OPEN, or at OPENED
	midStdout   moment = "mid-stdout"      // at a DATA frame of stdout
	midStdin    moment = "mid-stdin"       // at a DATA frame of stdin
	afterExit   moment = "EXIT before ack" // at EXIT, or at the launcher's FORGET
)

var moments = []moment{beforeHello, create, midStdout, midStdin, afterExit}

// cell is one square of the table.
type cell struct {
	Leg    int
	Fault  fault
	Moment moment
}

func (c cell) String() string { return fmt.Sprintf("%s/%s/%s", legNames[c.Leg], c.Fault, c.Moment) }

// seed makes the runs of a cell its own, in whatever order they come.
func (c cell) seed() uint64 {
	h := fnv.New64()
	fmt.Fprint(h, c)
	return h.Sum64()
}

// impossible says why a cell cannot be, or "".
func (c cell) impossible() string {
	if c.Leg != bridgeLeg {
		return ""
	}
	switch {
	case c.Fault.answer() != 0:
		return "a unix socket carries no HTTP: nobody answers or upgrades there"
	case c.Fault == fault(leg.Close1000):
		return "a unix socket has no close codes: its orderly end is FIN"
	case c.Fault == fault(leg.Forge):
		return "no status is sent there: each FIN makes attach exit 0 and the kubelet itself say Success"
	}
	return ""
}

// cells lists those that can be, in the table's order.
func cells() []cell {
	var all []cell
	for l := range legCount {
		for _, f := range faults {
			for _, m := range moments {
				if c := (cell{l, f, m}); c.impossible() == "" {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

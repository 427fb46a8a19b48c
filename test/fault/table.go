package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// tally is the sum of all runs of a cell.
type tally struct {
	Leg        string  `json:"leg"`
	Fault      fault   `json:"fault"`
	Moment     moment  `json:"moment"`
	Impossible string  `json:"impossible,omitempty"`
	Runs       int     `json:"runs"`
	WebSocket  int     `json:"websocket"`
	SPDY       int     `json:"spdy"`
	Network    int     `json:"network"`
	Real       int     `json:"real_processes"`
	Missed     int     `json:"moment_did_not_come"`
	Redials    int     `json:"redials"`
	Bad        int     `json:"bad"`
	Slowest    float64 `json:"slowest_run_seconds"`
}

// count fills the whole table, including impossible cells.
func count(results []result) (map[cell]*tally, []*tally) {
	at := map[cell]*tally{}
	var order []*tally
	for l := range legCount {
		for _, f := range faults {
			for _, m := range moments {
				c := cell{l, f, m}
				at[c] = &tally{Leg: legNames[l], Fault: f, Moment: m, Impossible: c.impossible()}
				order = append(order, at[c])
			}
		}
	}
	for _, r := range results {
		t := at[r.Cell]
		t.Slowest = max(t.Slowest, r.Seconds)
		if !r.Struck {
			t.Missed++
			continue
		}
		t.Runs++
		t.Redials += r.Redials
		switch r.Transport {
		case webSocket:
			t.WebSocket++
		case spdy:
			t.SPDY++
		default:
			t.Network++
		}
		if r.Real {
			t.Real++
		}
		if r.bad() {
			t.Bad++
		}
	}
	return at, order
}

// show prints the table of legs, faults and moments.
func show(w io.Writer, at map[cell]*tally) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "leg\tfault\t")
	for _, m := range moments {
		fmt.Fprintf(tw, "%s\t", m)
	}
	fmt.Fprintln(tw)
	reasons := map[string][]string{}
	for l := range legCount {
		for _, f := range faults {
			fmt.Fprintf(tw, "%s\t%s\t", legNames[l], f)
			for _, m := range moments {
				t := at[cell{l, f, m}]
				switch {
				case t.Impossible != "":
					fmt.Fprint(tw, "-\t")
				case t.Bad > 0:
					fmt.Fprintf(tw, "%d (%d BAD)\t", t.Runs, t.Bad)
				default:
					fmt.Fprintf(tw, "%d\t", t.Runs)
				}
			}
			fmt.Fprintln(tw)
			if t := at[cell{l, f, moments[0]}]; t.Impossible != "" {
				reasons[t.Impossible] = append(reasons[t.Impossible], legNames[l]+" "+string(f))
			}
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for reason, list := range reasons {
		fmt.Fprintf(w, "- %s: %s\n", strings.Join(list, ", "), reason)
	}
	return nil
}

// numbers are the raw numbers of the matrix.
type numbers struct {
	Faults       int `json:"faults"`
	Fewest       int `json:"fewest_runs_of_a_cell"`
	FalseSuccess int `json:"false_successes"`
	Bytes        int `json:"lost_or_doubled_bytes"`
	Launches     int `json:"second_launches"`
	Broken       int `json:"sessions_broken"`
	Records      int `json:"records_left"`
	Wrong        int `json:"wrong"`
	Real         int `json:"with_real_processes"`
}

func sumUp(results []result, wanted map[cell]bool) numbers {
	n := sums(results)
	n.Fewest = -1
	at, _ := count(results)
	for c, t := range at {
		if wanted[c] && (n.Fewest < 0 || t.Runs < n.Fewest) {
			n.Fewest = t.Runs
		}
	}
	return n
}

// sums counts the runs in which the fault has struck.
func sums(results []result) (n numbers) {
	for _, r := range results {
		if !r.Struck {
			continue
		}
		n.Faults++
		for _, c := range []struct {
			is bool
			n  *int
		}{{r.FalseSuccess, &n.FalseSuccess}, {r.Bytes, &n.Bytes}, {r.Launches > 1, &n.Launches}, {r.Broken != "", &n.Broken},
			{r.Left > 0, &n.Records}, {r.bad(), &n.Wrong}, {r.Real, &n.Real}} {
			if c.is {
				*c.n++
			}
		}
	}
	return n
}

// matrix runs every cell and shows the table.
func matrix(y *yard, o options, b *book) error {
	var list []cell
	wanted := map[cell]bool{}
	for _, c := range cells() {
		if o.only.MatchString(c.String()) {
			list, wanted[c] = append(list, c), true
		}
	}
	results, wrong := y.bulk(plan{seed: o.seed, cells: list, runs: o.runs - o.real, lanes: o.lanes}, os.Stdout)
	if o.real > 0 {
		real, err := y.bulk(plan{seed: o.seed, cells: list, from: o.runs - o.real, runs: o.real, lanes: min(o.lanes, 8), real: true}, os.Stdout)
		results, wrong = append(results, real...), errors.Join(wrong, err)
	}
	at, order := count(results)
	if err := show(os.Stdout, at); err != nil {
		return err
	}
	var bad []result
	for _, r := range results {
		if r.bad() {
			bad = append(bad, r)
			fmt.Printf("BAD %s run %d: %+v\n", r.Cell, r.Run, r)
		}
	}
	n := sumUp(results, wanted)
	if err := figure.Save(b.dir, "fault.json", map[string]any{"seed": o.seed, "numbers": n, "cells": order, "bad": bad}); err != nil {
		return err
	}
	least, each := 10000.0, 50.0
	if o.subset {
		least, each = float64(o.runs*len(list)), float64(o.runs)
	}
	return errors.Join(wrong, b.keep("fault", n,
		figure.Row{Name: "faults injected", Log: "faults", Op: ">=", Bar: least},
		figure.Row{Name: "faults injected: fewest runs of an applicable cell", Log: "fewest_runs_of_a_cell", Op: ">=", Bar: each},
		figure.Row{Name: "faults that ended in a false success", Log: "false_successes", Op: "=="},
		figure.Row{Name: "faults that lost or doubled bytes", Log: "lost_or_doubled_bytes", Op: "=="},
		figure.Row{Name: "faults that launched a second time", Log: "second_launches", Op: "=="},
		figure.Row{Name: "faults that a session or its link did not survive", Log: "sessions_broken", Op: "=="},
		figure.Row{Name: "records that a fault left in a worker", Log: "records_left", Op: "=="},
		figure.Row{Name: "faults injected with agent worker and agent attach as processes", Log: "with_real_processes", Op: ">=", Bar: 1}))
}

// fault is a fault of package leg, or an HTTP answer.
type fault string

// The HTTP answers. "refused" is an upgrade that the server does not support: 400, 403 or 500 as plain text.
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
	fault(leg.Close1000), fault(leg.Forge), fault(leg.Corrupt), answer401, answer403, answer404, answer429, answer500, refused,
}

// answer returns the HTTP status of f, or 0 if f is not an answer.
func (f fault) answer() int {
	return map[fault]int{answer401: 401, answer403: 403, answer404: 404, answer429: 429, answer500: 500, refused: 400}[f]
}

// moment is the time of the fault in the session.
type moment string

// The moments of a session. A fault hits the frame of its moment before the first byte, or anywhere within it.
const (
	beforeHello moment = "before HELLO"    // while dialing, or when HELLO is sent
	create      moment = "during create"   // at OPEN, or at OPENED
	midStdout   moment = "mid-stdout"      // at a DATA frame of stdout
	midStdin    moment = "mid-stdin"       // at a DATA frame of stdin
	afterExit   moment = "EXIT before ack" // at EXIT, or at the launcher's FORGET
)

var moments = []moment{beforeHello, create, midStdout, midStdin, afterExit}

// cell is one cell of the table.
type cell struct {
	Leg    int
	Fault  fault
	Moment moment
}

func (c cell) String() string { return fmt.Sprintf("%s/%s/%s", legNames[c.Leg], c.Fault, c.Moment) }

// seed returns the seed of the cell's runs, which does not depend on the order of the cells.
func (c cell) seed() uint64 {
	h := fnv.New64()
	fmt.Fprint(h, c)
	return h.Sum64()
}

// impossible returns why a cell is impossible, or "".
func (c cell) impossible() string {
	switch {
	case c.Fault == fault(leg.Corrupt):
		if byNetwork(c.Leg) {
			return ""
		}
		return "TLS protects these legs in a cluster, and here they have none"
	case c.Leg < bridgeLeg:
		return ""
	case c.Fault.answer() != 0:
		return "no HTTP passes there, so no answers and no upgrades"
	case c.Fault == fault(leg.Close1000):
		return "there are no close codes: a clean end is FIN"
	case c.Fault == fault(leg.Forge) && byNetwork(c.Leg):
		return "no status is sent there, and nobody else can make a record that is authentic"
	case c.Fault == fault(leg.Forge):
		return "no status is sent there: after each FIN attach exits 0 and the kubelet itself sends Success"
	}
	return ""
}

// cells returns the possible cells, in the table's order.
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

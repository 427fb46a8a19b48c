//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/musterhq/muster/test/suite/figure"
)

// matrix holds all cells.
type matrix struct {
	columns []column
	events  []event
	results []result
	whole   bool // nothing was left out

	saying sync.Mutex
}

// progress prints how a cell ended. If the cell is at fault, it prints the output too.
func (m *matrix) progress(r result, verbose bool) {
	how := "agent run"
	if r.Bare {
		how = "bare"
	}
	m.saying.Lock()
	defer m.saying.Unlock()
	fmt.Printf("%-10s %-20s %-9s %s\n", r.Column, r.Event, how, r.short())
	if verbose || len(r.Faults) > 0 {
		for line := range strings.Lines(tail(r.output)) {
			fmt.Print("    | " + line)
		}
		fmt.Println()
	}
}

func (r result) short() string {
	switch {
	case r.Cannot != "":
		return "-"
	case len(r.Faults) > 0:
		return "FAULT: " + strings.Join(r.Faults, "; ") + " (" + r.Said + ")"
	case r.Hang:
		return "hangs"
	}
	text := fmt.Sprintf("%d, %.1f s", r.Code, r.Seconds)
	if len(r.Left) > 0 {
		text += fmt.Sprintf(", leaves %d", len(r.Left))
	}
	if r.Said != "" && !r.Bare {
		text += "  " + r.Said
	}
	return text
}

func tail(text string) string {
	const most = 3000
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

// falseSuccess reports whether the exit code is 0 although the job was not done.
func (m *matrix) falseSuccess(r result) bool {
	return r.Cannot == "" && !r.Hang && r.Ended && r.Code == 0 && !m.event(r).code(0)
}

// event returns the row of a cell.
func (m *matrix) event(r result) event {
	for _, e := range m.events {
		if e.key == r.Event {
			return e
		}
	}
	return event{}
}

// report prints the matrix. For a whole matrix it also writes the page and the figures. It fails if a cell is at
// fault.
func (m *matrix) report(o options) error {
	page := m.page()
	fmt.Println()
	fmt.Println(page)
	if m.whole {
		if err := m.figures(); err != nil {
			return err
		}
	}
	if o.doc != "" {
		if err := os.WriteFile(o.doc, []byte(page), 0o644); err != nil {
			return err
		}
	}
	faults := 0
	for _, r := range m.results {
		if len(r.Faults) > 0 {
			faults++
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d cells at fault", faults)
	}
	return nil
}

// figures records the figures of the suite, computed from the raw cells.
func (m *matrix) figures() error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, r := range m.results {
		switch {
		case r.Bare && r.Hang:
			counts["bareHangs"]++
		case r.Bare && m.falseSuccess(r):
			counts["bareFalseSuccesses"]++
		case r.Bare || r.Cannot != "":
		default:
			counts["cells"]++
			counts["hangs"] += one(r.Hang)
			counts["falseSuccesses"] += one(m.falseSuccess(r))
			counts["faults"] += one(len(r.Faults) > 0)
			counts["left"] += len(r.Left)
		}
	}
	raw := map[string]any{"results": m.results}
	for _, key := range []string{"cells", "hangs", "falseSuccesses", "faults", "left", "bareHangs", "bareFalseSuccesses"} {
		raw[key] = counts[key]
	}
	kept, err := figure.Keep(dir, "make conform", "conform", raw,
		figure.Row{Name: "hangs in the conformance matrix", Log: "hangs", Op: "=="},
		figure.Row{Name: "conformance cells that ended with a false success", Log: "falseSuccesses", Op: "=="},
		figure.Row{Name: "conformance cells with a fault of any kind", Log: "faults", Op: "=="},
		figure.Row{Name: "processes left in workers after a conformance cell", Log: "left", Op: "=="},
		figure.Row{Name: "conformance cells under agent run", Log: "cells"},
		figure.Row{Name: "hangs of mpirun by itself in the same cells", Log: "bareHangs"},
		figure.Row{Name: "false successes of mpirun by itself in the same cells", Log: "bareFalseSuccesses"})
	for _, row := range kept {
		fmt.Println(row)
	}
	return err
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

const pageHead = `# What each mpirun does when something fails, by itself and under Muster

After this page you can look up what each mpirun does when an agent, a daemon, a worker or a rank fails, by itself and under ` + "`agent run`" + `.

Made by ` + "`make conform`" + ` (test/conform); do not edit. Three fake workers with a rank each; the event happens to the third. Real mpiruns, real daemons, an MPI
program whose ranks meet every 100 ms (a shell script in the row without MPI). Times are from the event to the end of the command, in whole seconds on a
busy machine of two cores. The bare mpirun has the same environment; its remote agent is a script that runs its line on this machine.
The daemons of Open MPI 6 have host names of their own, as in pods, and its ranks use UCX.

`

const pageTail = `
**hangs**: still there %d s after the event (%d s for the frozen daemon), and ended by the test. **false 0**: exit code 0 although the job was not done.
**leaves N**: processes of the job that were there 2 s after the command's end.

Under ` + "`agent run`" + ` every cell ended within %d s (the frozen daemon: %d s) with the code shown, and nothing was left in the workers; where the event
happened to a worker, a line of ` + "`agent run`" + ` named it.

## How
PID 1 of each worker looks at the daemons of mpirun and at their children, the ranks, and reports to the launcher: a daemon that was killed, one that has
been stopped for ` + "`--frozen-after`" + ` (30 s; 0 turns it off), and a rank that ended with another code than 0. The launcher gives mpirun 10 s to notice by itself
(1 s where it cannot), then ends it, and says what happened, where, with the true code: a rank's own, 128+n for a daemon killed by signal n, 76 where there is none and for a lost worker.

* It is done for commands that are judged strictly (mpirun and its like; ` + "`--exit=strict`" + `). ` + "`--exit=command`" + ` takes the command's word and ends nothing: for jobs that
  are meant to outlive a daemon or a rank (ULFM, ` + "`-disable-auto-cleanup`" + `).
* Only daemons count as frozen, by name (orted, prted, hydra_pmi_proxy, hydra_bstrap_proxy), and only in state T: ranks may be stopped, and
  daemons may be traced (state t, as under gdb). A daemon that is stopped on purpose for longer: ` + "`--frozen-after=0`" + `.
* How a rank ended that is no child of PID 1's is known from Linux 6.15 on (PIDFD_INFO_EXIT). On older kernels mpirun's word counts: MPICH's job whose
  rank exits without MPI_Finalize hangs there as it does by itself, and Intel MPI's 255 stays 255.
* A rank whose MPI library is linked statically, or that lived less than half a second, may go unseen; a rank without MPI never ends the others.
* A launcher whose link is parked (the daemons of Open MPI 4 and 6 detach) is not there to decide: PID 1 then ends the frozen daemon's session itself, mpirun
  notices, and the launcher asks and is told.
`

// page returns the matrix as a page of Markdown.
func (m *matrix) page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	head, rule := "| event | |", "|---|---|"
	for _, c := range m.columns {
		head += fmt.Sprintf(" %s (%s) |", c.title, c.from)
		rule += "---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
	for _, e := range m.events {
		for _, bare := range []bool{true, false} {
			title, how := "", "`agent run`"
			if bare {
				title, how = e.title, "bare"
			}
			fmt.Fprintf(&b, "| %s | %s |", title, how)
			for _, c := range m.columns {
				fmt.Fprintf(&b, " %s |", m.text(c.key, e.key, bare))
			}
			b.WriteString("\n")
		}
	}
	beyond := int(margin.Seconds())
	fmt.Fprintf(&b, pageTail, int(limit.Seconds())+beyond, int(frozenLimit.Seconds())+beyond, int(limit.Seconds()), int(frozenLimit.Seconds()))
	return b.String()
}

func (m *matrix) text(column, event string, bare bool) string {
	for _, r := range m.results {
		if r.Column == column && r.Event == event && r.Bare == bare {
			return m.cellText(r)
		}
	}
	return "not run"
}

func (m *matrix) cellText(r result) string {
	switch {
	case r.Cannot != "" && r.Bare:
		return "-"
	case r.Cannot != "":
		return r.Cannot
	case len(r.Faults) > 0:
		return "**FAULT**: " + strings.Join(r.Faults, "; ")
	case r.Hang:
		return "**hangs**"
	}
	text := fmt.Sprintf("%d, %s", r.Code, whole(r.Seconds))
	if m.falseSuccess(r) {
		text = fmt.Sprintf("**false 0**, %s", whole(r.Seconds))
	}
	if r.Named && !r.Bare && m.event(r).named {
		text += ", named"
	}
	if len(r.Left) > 0 {
		text += fmt.Sprintf(", leaves %d", len(r.Left))
	}
	return text
}

func whole(seconds float64) string {
	if seconds < 1.5 {
		return "1 s"
	}
	return fmt.Sprintf("%d s", int(math.Round(seconds)))
}

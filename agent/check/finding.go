package check

import (
	"cmp"
	"slices"
)

// Verdict says how a check ended.
type Verdict string

// Verdicts, from good to bad.
const (
	OK      Verdict = "ok"
	Unknown Verdict = "unknown" // what the check needs could not be found out
	Warn    Verdict = "warn"    // ranks may run, but slowly, or fail later
	Fail    Verdict = "fail"    // ranks cannot run
)

func (v Verdict) badness() int { return slices.Index([]Verdict{OK, Unknown, Warn, Fail}, v) }

// Finding is the result of one check of one thing.
type Finding struct {
	Check string `json:"check"` // its name in the table
	// Of is what was checked: a worker, two workers ("a to b"), an image; "" for the whole job or
	// cluster.
	Of      string  `json:"of,omitempty"`
	Node    string  `json:"node,omitempty"` // of that worker
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`            // what was found, as a sentence without a period
	Remedy  string  `json:"remedy,omitempty"` // a way out, unless the verdict is OK
	// Worker is the worker to blame, if there is one. It is the one to replace.
	Worker string `json:"worker,omitempty"`
}

// Worst returns the worst verdict; OK if there are no findings.
func Worst(all []Finding) Verdict {
	worst := OK
	for _, f := range all {
		if f.Verdict.badness() > worst.badness() {
			worst = f.Verdict
		}
	}
	return worst
}

// Sort sorts findings: the worst first, then in the order of the table, then by what was checked.
func Sort(all []Finding) {
	at := positions() // once: a launch on 60 workers compares thousands of findings
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Verdict.badness(), a.Verdict.badness()), cmp.Compare(at[a.Check], at[b.Check]), cmp.Compare(a.Of, b.Of))
	})
}

// Bad returns the workers that findings with Fail blame, each once, in order.
func Bad(all []Finding) []string {
	var bad []string
	for _, f := range all {
		if f.Verdict == Fail && f.Worker != "" {
			bad = append(bad, f.Worker)
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

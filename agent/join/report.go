package join

import (
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// Report is the content of --report FILE: how the job ended, as this member knows it.
type Report struct {
	Exit     int           `json:"exit"`
	Why      string        `json:"why,omitempty"`
	Member   int           `json:"member"`   // the rank of this member
	Workers  int           `json:"workers"`  // members of the job
	Attempts []retry.Tried `json:"attempts"` // in order, at most eight: the first and the last
}

// saveReport writes the report of a member's end, if requested.
func (c Config) saveReport(o barrier.Order, past []retry.Tried) error {
	if c.Report == "" {
		return nil
	}
	text, err := json.MarshalIndent(Report{Exit: o.Code, Why: whyOf(o), Member: c.Rank, Workers: c.Workers, Attempts: append([]retry.Tried{}, past...)}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := outfile.Write(c.Report, append(text, '\n'), isReport); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// checkReport checks before the run that the report can be written.
func (c Config) checkReport() error {
	if c.Report == "" {
		return nil
	}
	if err := outfile.Check(c.Report, isReport); err != nil {
		return usage(outfile.Hint(err), "--report=%s: %w", c.Report, err)
	}
	return nil
}

// isReport reports whether text is a report of an earlier run.
func isReport(text []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return false
	}
	for _, name := range []string{"exit", "member", "workers", "attempts"} {
		if fields[name] == nil {
			return false
		}
	}
	return true
}

package config

import (
	"errors"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/exec/names"
)

// validateProgress checks the rules for output lines.
func (c Config) validateProgress() error {
	rules, err := progress.Read(c.Progress)
	var bad *progress.RuleError
	if errors.As(err, &bad) {
		return failure.Usage(bad.Hint(), "%w", err)
	}
	if err != nil {
		return failure.Usage("", "%w", err)
	}
	for _, r := range rules {
		switch {
		case r.ByRank && len(c.Command) > 0 && names.IsMPIRun(c.Command[0]) && c.Output != "tag":
			return failure.Usage("--output=tag tags each line of mpirun's output with its rank", "--expect-by=rank: the output of %s has no rank tags", c.Command[0])
		case r.ByRank && c.Elastic():
			return failure.Usage("--expect-by=job counts a line of any rank", "--expect-by=rank does not work with --min-workers: ranks change")
		}
	}
	return nil
}

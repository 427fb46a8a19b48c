package submit

import (
	"errors"
	"path"
	"strconv"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/retry/rules"
)

// Restarts says which failures are retried, and how often.
type Restarts struct {
	MaxRestarts    int    `flag:"max-restarts"`
	RestartOn      string `flag:"restart-on"`
	RestartPolicy  string `flag:"restart-policy"`
	MaxRestartsPer string `flag:"max-restarts-per"`
	MaxNoProgress  int    `flag:"max-no-progress"`
	ProgressFile   string `flag:"progress-file"`
}

// restarts sets the job's restart policy.
func (r Request) restarts(job *v1alpha1.LaunchJob) error {
	number := ""
	if r.MaxNoProgress != 0 {
		number = strconv.Itoa(r.MaxNoProgress)
	}
	for i, one := range [][2]string{{"restart-on", r.RestartOn}, {"restart-policy", r.RestartPolicy}, {"max-restarts-per", r.MaxRestartsPer}, {"max-no-progress", number}, {"progress-file", r.ProgressFile}} {
		switch {
		case one[1] == "":
		case r.MaxRestarts == 0:
			return failure.Usage("--max-restarts=3", "--%s=%s requires --max-restarts", one[0], one[1])
		case i > 0 && job.Spec.Launcher == nil:
			return failure.Usage("--launcher adds one", "--%s requires a launcher: a job without one has --max-restarts and --restart-on", one[0])
		}
	}
	if r.MaxRestarts == 0 {
		return nil
	}
	p := &v1alpha1.RestartPolicy{MaxRestarts: int32(r.MaxRestarts), RestartOn: r.RestartOn, MaxRestartsPer: r.MaxRestartsPer, MaxNoProgress: int32(r.MaxNoProgress), ProgressFile: r.ProgressFile}
	set, err := rules.List([]byte(r.RestartPolicy))
	if bad := (*rules.RuleError)(nil); errors.As(err, &bad) {
		return failure.Usage(bad.Hint(), "%w", err)
	} else if err != nil {
		return err
	}
	for _, rule := range set.List() {
		one := v1alpha1.RestartRule{Signals: rule.Signals, Causes: rule.Causes, Output: rule.Output, Container: rule.Container, Action: string(rule.Action)}
		for _, code := range rule.ExitCodes {
			one.ExitCodes = append(one.ExitCodes, int32(code))
		}
		p.Rules = append(p.Rules, one)
	}
	if r.MaxRestartsPer != "" {
		if _, err := retry.ParseBudget(r.MaxRestartsPer); err != nil {
			return failure.Usage("--max-restarts-per=6/1h allows six restarts in an hour", "--max-restarts-per=%s: %w", r.MaxRestartsPer, err)
		}
	}
	if r.MaxNoProgress < 0 || r.MaxNoProgress > mostRestarts {
		return failure.Usage("--max-no-progress=3", "--max-no-progress=%d: want 0 to %d", r.MaxNoProgress, mostRestarts)
	}
	if _, err := path.Match(r.ProgressFile, ""); err != nil {
		return failure.Usage("as in --progress-file='/data/ckpt/*.pt'", "--progress-file=%s: %w", r.ProgressFile, err)
	}
	job.Spec.RestartPolicy = p
	return nil
}

// mostRestarts is the limit of the CRD.
const mostRestarts = 1000

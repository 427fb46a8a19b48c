package reports

import (
	"maps"
	"math"
	"slices"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/goodput"
)

// mostAttempts is how many attempts the status keeps: half of them the first ones, which may hold
// the cause, and half the last ones.
const mostAttempts = 16

// Spend adds what the time of a launcher's workers was spent on to that of earlier launchers.
func Spend(s *v1alpha1.LaunchJobStatus, spent goodput.Account) {
	if spent == nil {
		return
	}
	all := maps.Clone(spent)
	for _, one := range s.Spent {
		all[goodput.Class(one.Class)] += float64(one.Seconds)
	}
	s.Goodput, s.Spent = all.Percent(), nil
	for _, about := range goodput.Table() {
		if seconds := int64(math.Round(all[about.Class])); seconds > 0 {
			s.Spent = append(s.Spent, v1alpha1.TimeSpent{Class: string(about.Class), Seconds: seconds})
		}
	}
}

// Keep adds a failure, and the attempts before it, to the attempts of the status. first is nil if there was none.
func Keep(s *v1alpha1.LaunchJobStatus, before []v1alpha1.FailedAttempt, first *v1alpha1.FirstFailure) {
	run := max(s.Attempt, 1)
	all := slices.Clone(before)
	if first != nil {
		last := v1alpha1.FailedAttempt{FirstFailure: *first}
		if n := len(all); n > 0 {
			last.Restart = all[n-1].Restart + 1
		}
		all = append(all, last)
	}
	for _, one := range all {
		one.Attempt = run
		s.FailedAttempts = append(s.FailedAttempts, one)
	}
	if n := len(s.FailedAttempts); n > mostAttempts {
		s.FailedAttempts = slices.Delete(s.FailedAttempts, mostAttempts/2, n-mostAttempts/2)
	}
}

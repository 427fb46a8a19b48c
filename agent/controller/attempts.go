package controller

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/exec/names"
)

// mostAttempts is how many attempts the status keeps: half of them the first ones, which may hold
// the cause, and half the last ones.
const mostAttempts = 16

// earlierAttempt matches a line of the launcher's termination message.
var earlierAttempt = regexp.MustCompile(`^` + names.EarlierAttempt + `(\d{1,9}) \(exit code (\d{1,3})\): (.*)$`)

// earlier splits the termination message of a container. Its parts are its own last words, earlier attempts,
// what the workers' time was spent on, and the events of the run.
func (p *place) earlier(words string) {
	var rest []string
	var before []v1alpha1.FailedAttempt
	for line := range strings.Lines(words) {
		line = strings.TrimSuffix(line, "\n")
		if account, ok := goodput.Parse(line); ok {
			p.spent = account
			continue
		}
		if attempts, omitted, ok := event.ParseBrief(line); ok {
			p.run.Attempts, p.run.Omitted = attempts, omitted
			continue
		}
		if m := earlierAttempt.FindStringSubmatch(line); m != nil {
			restart, _ := strconv.ParseInt(m[1], 10, 32)
			code, _ := strconv.ParseInt(m[2], 10, 32)
			before = append(before, v1alpha1.FailedAttempt{Restart: int32(restart), FirstFailure: failureOf(m[3], p.pod.Name, int32(code))})
			continue
		}
		if n := len(before); n > 0 {
			before[n-1].Message += "\n" + strings.TrimPrefix(line, "\t")
			continue
		}
		rest = append(rest, line)
	}
	p.words, p.before = strings.Join(rest, "\n"), before
}

// Sentences of the agent that name a rank, its pod, or both.
var (
	rankOn = regexp.MustCompile(`\brank (\d{1,9})\b(?:\S*(?: \S+){0,2}? on \(?([-a-z0-9.]*[a-z0-9]))?`) // rank 3 on pi-worker-1 ...
	onPod  = regexp.MustCompile(`\bworker ([-a-z0-9.]*[a-z0-9])(?: lost)?: (?:rank (\d{1,9}),)?`)       // worker pi-worker-1: rank 3, ...
)

// failureOf reads a failure from the last words of a container in that pod.
func failureOf(words, pod string, code int32) v1alpha1.FirstFailure {
	f := v1alpha1.FirstFailure{Pod: pod, ExitCode: code, Message: clip(words, 2000)}
	rank := ""
	line, _, _ := strings.Cut(words, "\n")
	if m := onPod.FindStringSubmatch(line); m != nil {
		f.Pod, rank = m[1], m[2]
	} else if m := rankOn.FindStringSubmatch(words); m != nil {
		f.Pod, rank = cmp.Or(m[2], pod), m[1]
	}
	if n, err := strconv.ParseInt(rank, 10, 32); err == nil {
		f.Rank = new(int32(n))
	}
	return f
}

// spend adds what the time of a launcher's workers was spent on to that of earlier launchers.
func spend(s *v1alpha1.LaunchJobStatus, spent goodput.Account) {
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

// keep adds the attempts in a verdict to those of the status.
func keep(s *v1alpha1.LaunchJobStatus, v verdict) {
	run := max(s.Attempt, 1)
	all := slices.Clone(v.before)
	if v.first != nil {
		last := v1alpha1.FailedAttempt{FirstFailure: *v.first}
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

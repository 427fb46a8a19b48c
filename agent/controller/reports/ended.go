package reports

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/exec/names"
)

// earlierAttempt matches a line of the launcher's termination message.
var earlierAttempt = regexp.MustCompile(`^` + names.EarlierAttempt + `(\d{1,9}) \(exit code (\d{1,3})\): (.*)$`)

// Ended is what a container that has ended reports.
type Ended struct {
	Words    string                   // its own last words
	Before   []v1alpha1.FailedAttempt // earlier attempts
	Spent    goodput.Account          // what the workers' time was spent on; nil: unknown
	Attempts []event.Event            // of the run, without the Omitted oldest ones
	Omitted  int
}

// Read splits the termination message of a container in a pod into the parts of its report.
func Read(message, pod string) (e Ended) {
	var rest []string
	var before []v1alpha1.FailedAttempt
	for line := range strings.Lines(message) {
		line = strings.TrimSuffix(line, "\n")
		if account, ok := goodput.Parse(line); ok {
			e.Spent = account
			continue
		}
		if attempts, omitted, ok := event.ParseBrief(line); ok {
			e.Attempts, e.Omitted = attempts, omitted
			continue
		}
		if m := earlierAttempt.FindStringSubmatch(line); m != nil {
			restart, _ := strconv.ParseInt(m[1], 10, 32)
			code, _ := strconv.ParseInt(m[2], 10, 32)
			before = append(before, v1alpha1.FailedAttempt{Restart: int32(restart), FirstFailure: Failure(m[3], pod, int32(code))})
			continue
		}
		if n := len(before); n > 0 {
			before[n-1].Message += "\n" + strings.TrimPrefix(line, "\t")
			continue
		}
		rest = append(rest, line)
	}
	e.Words, e.Before = strings.Join(rest, "\n"), before
	return e
}

// Sentences of the agent that name a rank, its pod, or both.
var (
	rankOn = regexp.MustCompile(`\brank (\d{1,9})\b(?:\S*(?: \S+){0,2}? on \(?([-a-z0-9.]*[a-z0-9]))?`) // rank 3 on pi-worker-1 ...
	onPod  = regexp.MustCompile(`\bworker ([-a-z0-9.]*[a-z0-9])(?: lost)?: (?:rank (\d{1,9}),)?`)       // worker pi-worker-1: rank 3, ...
)

// Failure reads a failure from the last words of a container in that pod.
func Failure(words, pod string, code int32) v1alpha1.FirstFailure {
	f := v1alpha1.FirstFailure{Pod: pod, ExitCode: code, Message: Clip(words, 2000)}
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

// LastLine returns the agent's last sentence in a log, else the last line of the log.
func LastLine(log string) string {
	lines := strings.Split(log, "\n")
	for _, line := range slices.Backward(lines) {
		if sentence, ours := strings.CutPrefix(line, "agent: "); ours {
			return sentence
		}
	}
	return lines[len(lines)-1]
}

// Clip shortens a text to so many bytes, for a status or an event.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

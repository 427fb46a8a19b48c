package reap

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Stopping says that whom, such as "4 ranks", was asked to end.
func Stopping(whom string, grace time.Duration) string {
	return fmt.Sprintf("stopping %s, up to %s for saving", whom, short(grace))
}

// Ended is one process of a stop, for Stopped.
type Ended struct {
	Name   string // such as "rank 2 on pi-worker-1"
	After  time.Duration
	Killed bool
	// Unknown means that its end was not reported.
	Unknown bool
}

// Stopped says how the processes that were asked to end have ended.
func Stopped(all []Ended, what string) string {
	var killed, unknown []string
	var longest time.Duration
	for _, e := range all {
		switch {
		case e.Killed:
			killed = append(killed, e.Name)
		case e.Unknown:
			unknown = append(unknown, e.Name)
		default:
			longest = max(longest, e.After)
		}
	}
	var rest []string
	if n := len(killed); n > 0 {
		rest = append(rest, few(killed)+map[bool]string{true: " was killed", false: " were killed"}[n == 1])
	}
	if len(unknown) > 0 {
		rest = append(rest, "how "+few(unknown)+" ended is not known")
	}
	gone, ended := strings.Join(rest, "; "), len(all)-len(killed)-len(unknown)
	switch {
	case ended == 0:
		return gone
	case gone == "" && len(all) == 1:
		return fmt.Sprintf("%s ended by itself after %s", cmp.Or(all[0].Name, "the "+what), short(longest))
	case gone == "":
		return fmt.Sprintf("%s ended by themselves after %s", Count(len(all), what), short(longest))
	}
	return fmt.Sprintf("%d of %d ended by themselves after %s; %s", ended, len(all), short(longest), gone)
}

// few joins at most three names, and counts the others.
func few(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names); n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// Count formats a count: 1 rank, 2 ranks, 2 processes.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short formats durations as 0.3 s, and from ten seconds on as 12 s.
func short(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0 s", " s", 1)
}

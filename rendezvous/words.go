package rendezvous

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// clip makes foreign text fit into one line of n bytes. An error of the runtime or a user's
// termination message may contain newlines and terminal escapes.
func clip(text string, n int) string {
	if strings.ContainsRune(text, '\x1b') {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) <= n {
		return text
	}
	cut := n - len("...")
	for cut > 0 && text[cut]&0xC0 == 0x80 { // not within a rune
		cut--
	}
	return strings.TrimRight(text[:cut], " ") + "..."
}

// short formats a duration for people: 41s, 2m10s, 1h5m.
func short(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%dm", s/60)
	case s < 3600:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	case s/60%60 == 0:
		return fmt.Sprintf("%dh", s/3600)
	}
	return fmt.Sprintf("%dh%dm", s/3600, s/60%60)
}

// lasting returns " for 2m10s", or "" if the start is not known.
func lasting(since, now time.Time) string {
	if since.IsZero() || now.Sub(since) < time.Second {
		return ""
	}
	return " for " + short(now.Sub(since))
}

func more(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return " (and 1 more worker)"
	}
	return fmt.Sprintf(" (and %d more workers)", n)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ranges formats ascending numbers as 2, 5-7.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

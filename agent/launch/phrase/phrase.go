package phrase

import (
	"fmt"
	"strings"
	"time"
)

// HowEnded says how a process ended. It distinguishes a signal from a code that looks like one:
// mpirun exits with 128+n if a rank was killed, and has codes of its own in that range.
func HowEnded(code, signal int) string {
	if signal != 0 {
		return "was killed by " + SignalName(signal)
	}
	return fmt.Sprintf("exited with %d", code)
}

// Count returns a number with a noun: "1 link", "2 links".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// OneLine returns err's text on one line. errors.Join puts each error on a line of its own.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Seconds formats a duration as "3.4 s", and from 10 seconds on as "12 s".
func Seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// QuoteAll joins the words of a command to a line for a POSIX shell.
func QuoteAll(argv []string) string {
	words := make([]string, 0, len(argv))
	for _, word := range argv {
		words = append(words, Quote(word))
	}
	return strings.Join(words, " ")
}

// Quote quotes one word for a POSIX shell. It leaves plain words unquoted.
func Quote(s string) string {
	plain := s != ""
	for _, c := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^", c) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return QuoteAlways(s)
}

// QuoteAlways is Quote, but quotes plain words too.
func QuoteAlways(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// UpTo returns " up to 10m", or "" for no limit.
func UpTo(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " up to " + Brief(d)
}

// Brief formats a duration as a user types it: 10m, 1h30m, 90s.
func Brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

package phrase

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// HowEnded tells a signal from a code that looks like one: mpirun exits with
// 128+n when a rank was killed, and with codes of its own in that range.
func HowEnded(code, signal int) string {
	if signal != 0 {
		return "was killed by " + SignalName(signal)
	}
	return fmt.Sprintf("exited with %d", code)
}

// Count writes "1 link", "2 links".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// OneLine is err's text with its lines put into one: errors.Join has one each.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Seconds writes 3.4 s, and 12 s from ten on.
func Seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// QuoteAll makes a line for a POSIX shell of the words of a command.
func QuoteAll(argv []string) string {
	words := make([]string, 0, len(argv))
	for _, word := range argv {
		words = append(words, Quote(word))
	}
	return strings.Join(words, " ")
}

// Quote makes one word for a POSIX shell; plain words stay as they are.
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

// UpTo returns " up to 10m", or nothing where there is no limit.
func UpTo(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " up to " + Brief(d)
}

// Brief writes a duration as a user types it: 10m, 1h30m, 90s.
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

// SignalName is SIGTERM for 15, "signal 64" for one without a name.
func SignalName(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

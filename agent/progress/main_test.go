package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// start is the time at which each test's job starts.
var start = time.Unix(1_700_000_000, 0)

// event is an event in a test's job.
type event struct {
	at   int // seconds since the start
	rank int
	line string
	do   string // reset, excuse or ended; "" means a line
}

// say returns the event of a line of a rank.
func say(at, rank int, line string) event { return event{at: at, rank: rank, line: line} }

// every returns the events of lines with numbers from first on, one line every step seconds.
func every(from, to, step, rank, first int, prefix string) (all []event) {
	for at := from; at <= to; at += step {
		all = append(all, say(at, rank, prefix+itoa(first)))
		first++
	}
	return all
}

// play runs a job of the given number of ranks for some seconds. It returns the verdicts, each
// after its second.
func play(t *testing.T, rules []Rule, ranks, seconds int, events ...event) (told []string) {
	t.Helper()
	set, err := Compile(rules)
	require.NoError(t, err)
	w := set.Begin(start, ranks)
	tell := func(now time.Time) {
		for _, v := range w.Look(now) {
			told = append(told, itoa(int(now.Sub(start).Seconds()))+" "+v.Sentence())
		}
	}
	for second := range seconds + 1 {
		now := start.Add(time.Duration(second) * time.Second)
		for _, e := range events {
			if e.at != second {
				continue
			}
			switch e.do {
			case "reset":
				w.Reset(now)
			case "excuse":
				w.Excuse(now)
			case "ended":
				if w.Ended(e.rank, true) {
					tell(now)
				}
			default:
				if w.Feed(e.rank, []byte(e.line), now) {
					tell(now)
				}
			}
		}
		due, ok := w.Due()
		before := len(told)
		tell(now)
		if len(told) > before {
			require.True(t, ok && !due.After(now), "a verdict came before it was due")
		}
	}
	return told
}

func itoa(n int) string { return numbers{float64(n)}.text() }

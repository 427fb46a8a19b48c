package retry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Budget limits the restarts in a sliding window of time. The zero value sets no limit.
type Budget struct {
	Number int
	Per    time.Duration
}

// ParseBudget reads a budget: 6/1h allows six restarts in an hour. Errors are sentences for the
// user.
func ParseBudget(text string) (Budget, error) {
	number, per, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if !found || err != nil {
		return Budget{}, fmt.Errorf("want NUMBER/TIME, as in 6/1h")
	}
	d, err := time.ParseDuration(per)
	switch {
	case err != nil:
		return Budget{}, fmt.Errorf("%q is not a time", per)
	case n < 1:
		return Budget{}, fmt.Errorf("the number of restarts must be at least 1")
	case d < time.Second:
		return Budget{}, fmt.Errorf("the time must be at least 1s")
	}
	return Budget{Number: n, Per: d}, nil
}

// String returns the budget as a user types it.
func (b Budget) String() string { return fmt.Sprintf("%d/%s", b.Number, brief(b.Per)) }

// brief formats a time without its trailing zeros: 1h, 90m0s as 1h30m.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// spent reports whether the budget allows no restart at this time. It forgets restarts that the
// window has left behind.
func (a *Account) spent(now time.Time) bool {
	b := a.Policy.Per
	if b.Number == 0 {
		return false
	}
	a.recent = slices.DeleteFunc(a.recent, func(at time.Time) bool { return now.Sub(at) >= b.Per })
	return len(a.recent) >= b.Number
}

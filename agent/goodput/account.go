package goodput

import (
	"encoding/json"
	"fmt"
	"math"
)

// Account is the time of all workers of a run by class, in seconds. A time.Duration would overflow after
// 11 days of 10,000 workers.
type Account map[Class]float64

// Total returns the time of all workers, in seconds.
func (a Account) Total() float64 {
	all := 0.0
	for _, seconds := range a {
		all += seconds
	}
	return all
}

// counted returns the time that the ratio counts, in seconds.
func (a Account) counted() float64 {
	all := 0.0
	for _, about := range Table() {
		if about.Counted {
			all += a[about.Class]
		}
	}
	return all
}

// Ratio returns the goodput: the productive time of all workers, divided by their time in all counted
// classes. It returns false if no time counts, or if more time is unknown than counts.
func (a Account) Ratio() (ratio float64, ok bool) {
	counted := a.counted()
	if counted <= 0 || a[Unknown] > counted {
		return 0, false
	}
	return a[Productive] / counted, true
}

// Percent returns the ratio as "93.1%", rounded down, or "unknown".
func (a Account) Percent() string {
	ratio, ok := a.Ratio()
	if !ok {
		return string(Unknown)
	}
	return fmt.Sprintf("%.1f%%", math.Floor(1000*ratio+1e-9)/10)
}

// Add adds the time of another account.
func (a Account) Add(b Account) {
	for c, seconds := range b {
		a[c] += seconds
	}
}

// form is the JSON of an Account.
type form struct {
	Ratio   *float64          `json:"ratio,omitempty"` // nil: unknown
	Seconds map[Class]float64 `json:"seconds"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Account) UnmarshalJSON(text []byte) error {
	var f form
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*a = f.Seconds
	return nil
}

// MarshalJSON implements json.Marshaler: the ratio if it is known, and seconds by class.
func (a Account) MarshalJSON() ([]byte, error) {
	form := form{Seconds: map[Class]float64{}}
	if ratio, ok := a.Ratio(); ok {
		form.Ratio = &ratio
	}
	for c, seconds := range a {
		if seconds > 0 {
			form.Seconds[c] = seconds
		}
	}
	return json.Marshal(form)
}

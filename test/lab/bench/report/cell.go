package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Cell is what is said of the samples of one cell. Without samples the numbers
// mean nothing.
type Cell struct {
	Samples []float64 `json:"samples"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
}

// Of reads the samples.
func Of(samples []float64) Cell {
	c := Cell{Samples: samples}
	n := len(samples)
	if n == 0 {
		return c
	}
	s := slices.Sorted(slices.Values(samples))
	c.Median, c.Min, c.Max = (s[(n-1)/2]+s[n/2])/2, s[0], s[n-1]
	return c
}

// String is the median, and the ends unless they lie within half a percent of it;
// "-": not measured.
func (c Cell) String() string {
	if len(c.Samples) == 0 {
		return "-"
	}
	if most := 0.005 * math.Abs(c.Median); c.Max-c.Median <= most && c.Median-c.Min <= most {
		return Number(c.Median)
	}
	return Number(c.Median) + " (" + Number(c.Min) + " to " + Number(c.Max) + ")"
}

// Number has three significant digits, and all that stand before the point, in threes.
func Number(v float64) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 1000 {
		digits = min(9, max(0, 2-int(math.Floor(math.Log10(a)))))
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	sign, s := s[:len(s)-len(strings.TrimPrefix(s, "-"))], strings.TrimPrefix(s, "-")
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

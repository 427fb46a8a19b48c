package picture

import (
	"math"
	"slices"
	"strconv"
)

// scale lays numbers between two places of the page.
type scale struct {
	low, high float64 // the numbers at its ends
	from, to  float64 // the places
	log       bool
}

// fit is the scale for these numbers: logarithmic when they span more than a decade
// and none is zero or less, else from zero.
func fit(values []float64, from, to float64) scale {
	low, high := slices.Min(values), slices.Max(values)
	if low > 0 && high > 10*low {
		return scale{below(low), above(high), from, to, true}
	}
	low, high = min(low, 0), max(high, 0)
	if low == high {
		high = 1
	}
	step := stepOf(high - low)
	return scale{step * math.Floor(low/step), step * math.Ceil(high/step), from, to, false}
}

// at is the place of a number.
func (s scale) at(v float64) float64 {
	part := (v - s.low) / (s.high - s.low)
	if s.log {
		part = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return s.from + part*(s.to-s.from)
}

// ticks are the numbers that are written at the scale.
func (s scale) ticks() (all []float64) {
	if !s.log {
		step := stepOf(s.high - s.low)
		for i := range int(math.Round((s.high-s.low)/step)) + 1 {
			all = append(all, s.low+float64(i)*step)
		}
		return all
	}
	decades := math.Log10(s.high / s.low)
	between := decades < 2.5
	for e := math.Floor(math.Log10(s.low) + 1e-9); ; e += math.Ceil(decades / 8) {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v > s.high*(1+1e-9) {
				return all
			}
			if v >= s.low*(1-1e-9) && (m == 1 || between) {
				all = append(all, v)
			}
		}
	}
}

// stepOf makes four to ten steps of a span.
func stepOf(span float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{5, 2} {
		if step*m <= span/4 {
			return step * m
		}
	}
	return step
}

// below and above are the next of 1, 2, 5, 10, 20...
func below(v float64) float64 {
	d := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if d*m <= v {
			return d * m
		}
	}
	return d
}

func above(v float64) float64 {
	d := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if d*m >= v {
			return d * m
		}
	}
	return 10 * d
}

// short is a number at a scale: 20k for 20,000.
func short(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.of*(1-1e-9) {
			return strconv.FormatFloat(v/u.of, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

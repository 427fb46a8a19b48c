package progress

import (
	"math"
	"slices"
	"strconv"
)

// numbers are the numbers that the groups of a match have captured; NaN for text that is no finite
// number.
type numbers []float64

// numbersOf reads the groups of a match into dst, except those whose indices are in without. any
// reports whether one is a number.
func numbersOf(dst numbers, line []byte, match []int, without []int) (all numbers, any bool) {
	dst = dst[:0]
	for i := 2; i+1 < len(match); i += 2 {
		if slices.Contains(without, i/2) {
			continue
		}
		n := math.NaN()
		if match[i] >= 0 {
			n = number(line[match[i]:match[i+1]])
		}
		any = any || !math.IsNaN(n)
		dst = append(dst, n)
	}
	return dst, any
}

// numberIn returns the number that a group of a match has captured, or NaN.
func numberIn(line []byte, match []int, group int) float64 {
	at := 2 * group
	if at+1 >= len(match) || match[at] < 0 {
		return math.NaN()
	}
	return number(line[match[at]:match[at+1]])
}

// number parses one number, or returns NaN.
func number(b []byte) float64 {
	if len(b) > 0 && len(b) <= 15 {
		n, digits := 0, true
		for _, c := range b {
			digits = digits && c >= '0' && c <= '9'
			n = n*10 + int(c-'0')
		}
		if digits {
			return float64(n)
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// exceeds reports whether the first number in which they differ is larger in n.
func (n numbers) exceeds(old numbers) bool {
	for i := range min(len(n), len(old)) {
		switch {
		case n[i] > old[i]:
			return true
		case n[i] < old[i]:
			return false
		case math.IsNaN(old[i]) && !math.IsNaN(n[i]):
			return true // the first number of this group
		}
	}
	return false
}

// text formats the numbers for a message, as in "2, 1200".
func (n numbers) text() string {
	s := ""
	for _, f := range n {
		if math.IsNaN(f) {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

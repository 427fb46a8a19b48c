package metrics

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// number reads the number at the start of b: its value, and its length in bytes without a unit. ok
// is false if b starts with no number, or with something that only starts like one. Examples are
// dates, addresses, thousands separators, hexadecimal numbers and numbers beyond float64.
func number(b []byte) (value float64, length int, ok bool) {
	if value, length, ok = special(b); ok {
		return value, length, true
	}
	length = decimal(b)
	if length == 0 || !ends(b[length:]) {
		return 0, 0, false
	}
	value, err := strconv.ParseFloat(string(b[:length]), 64)
	return value, length, err == nil
}

// special reads inf, infinity and nan, as C and Python print them.
func special(b []byte) (value float64, length int, ok bool) {
	at, sign := 0, 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		at = 1
		if b[0] == '-' {
			sign = -1
		}
	}
	word := b[at : at+letters(b[at:])]
	switch {
	case bytes.EqualFold(word, []byte("inf")), bytes.EqualFold(word, []byte("infinity")):
		value = math.Inf(sign)
	case bytes.EqualFold(word, []byte("nan")):
		value = math.NaN()
	default:
		return 0, 0, false
	}
	length = at + len(word)
	return value, length, length == len(b) || !joins(b[length:])
}

// decimal returns the length of the sign, digits, fraction and exponent at the start of b: 12,
// -0.5, .5, 5., 1e-05, 5.e+01.
func decimal(b []byte) int {
	at := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		at++
	}
	whole := digits(b[at:])
	at += whole
	if at < len(b) && b[at] == '.' {
		fraction := digits(b[at+1:])
		if whole == 0 && fraction == 0 {
			return 0
		}
		if fraction > 0 || exponent(b[at+1:]) > 0 {
			at += 1 + fraction
		}
	} else if whole == 0 {
		return 0
	}
	return at + exponent(b[at:])
}

// exponent returns the length of an exponent such as e-05.
func exponent(b []byte) int {
	if len(b) == 0 || b[0]|0x20 != 'e' {
		return 0
	}
	at := 1
	if at < len(b) && (b[at] == '-' || b[at] == '+') {
		at++
	}
	n := digits(b[at:])
	if n == 0 {
		return 0
	}
	return at + n
}

// ends reports whether a number may end before rest. A unit may follow, such as ms, GiB/s or %. A
// digit after the unit shows that this was no number.
func ends(rest []byte) bool {
	unit := letters(rest)
	after := rest[unit:]
	if unit > 0 {
		// 1e- is an exponent without digits, 12ab-34 an identifier.
		return !joins(after) && !bytes.EqualFold(rest[:unit], []byte("e"))
	}
	if len(after) == 0 {
		return true
	}
	switch after[0] {
	case '_':
		return false
	case '.', ',', ':', '\'', '-', '+':
		return digits(after[1:]) == 0
	}
	r, _ := utf8.DecodeRune(after)
	return !unicode.IsDigit(r)
}

// joins reports whether rest continues the word of the letters before it.
func joins(rest []byte) bool {
	r, _ := utf8.DecodeRune(rest)
	return unicode.IsDigit(r) || unicode.IsLetter(r) || r == '_' || r == '-' || r == '+'
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

func letters(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if !unicode.IsLetter(r) {
			break
		}
		n += size
	}
	return n
}

package failure

import (
	"slices"
	"strings"
)

// OneOf returns a usage error unless the value of a flag, as in --color or -o, is one of words. The
// hint names the word that was probably meant, and all of them. An empty word allows an empty value.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	between := " "
	if strings.HasPrefix(flag, "--") {
		between = "="
	}
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
	return Usage(Meant(flag+between, value, words, "want "+strings.Join(words, ", ")), "%s%s: unknown value", flag+between, value)
}

// Meant returns way, the hint about a word that is not known. If one of words is similar to it, Meant
// puts that before way, after prefix: "did you mean --color=never? want auto, always, never".
func Meant(prefix, typed string, words []string, way string) string {
	if like := Nearest(typed, words); like != "" {
		return "did you mean " + prefix + like + "? " + way
	}
	return way
}

// Nearest returns the word that is most similar to typed, with at most two typing errors, or "". Of
// equally similar words it returns the first. A short word may have one error, because with two it
// could be any other.
func Nearest(typed string, words []string) string {
	const short = 4 // letters
	best, least := "", 3
	if len(typed) <= short {
		least = 2
	}
	for _, word := range words {
		if n := slips(typed, word); n < least && n < len(word) {
			best, least = word, n
		}
	}
	return best
}

// slips counts the letters that were left out, added, mistyped or swapped with the next one
// (optimal string alignment).
func slips(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range b {
		d[0][j+1] = j + 1
	}
	for i := range len(a) {
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			n := min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, d[i-1][j-1]+1)
			}
			d[i+1][j+1] = n
		}
	}
	return d[len(a)][len(b)]
}

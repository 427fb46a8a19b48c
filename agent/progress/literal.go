package progress

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literal is a text that each match of an expression contains.
type literal struct {
	text []byte // empty: there is none
	fold bool   // ignore case; text is then in lower case
}

// in reports whether b may contain a match.
func (l literal) in(b []byte) bool {
	if !l.fold {
		return len(l.text) == 0 || bytes.Contains(b, l.text)
	}
	for len(b) >= len(l.text) {
		if foldedPrefix(b, l.text) {
			return true
		}
		b = b[1:]
	}
	return false
}

func foldedPrefix(b, text []byte) bool {
	for i, c := range text {
		if d := b[i]; d != c && (d < 'A' || d > 'Z' || d+'a'-'A' != c) {
			return false
		}
	}
	return true
}

// literals are texts that each match of an expression contains all of.
type literals []literal

// maxLiterals limits how many texts are searched in a line before the expression is tried.
const maxLiterals = 3

// in reports whether b may contain a match.
func (all literals) in(b []byte) bool {
	for _, l := range all {
		if !l.in(b) {
			return false
		}
	}
	return true
}

// literalsOf finds the longest texts that each match of an expression contains.
func literalsOf(pattern string) literals {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	all := needed(tree.Simplify())
	slices.SortStableFunc(all, func(a, b literal) int { return len(b.text) - len(a.text) })
	return all[:min(len(all), maxLiterals)]
}

// needed returns the literals that each match of a part contains. It does not join neighbors,
// because the parser has joined runs of characters already.
func needed(re *syntax.Regexp) (all literals) {
	switch re.Op {
	case syntax.OpLiteral:
		if one := ofRunes(re.Rune, re.Flags&syntax.FoldCase != 0); len(one.text) > 0 {
			return literals{one}
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			all = append(all, needed(sub)...)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	}
	return all
}

// numberAfter returns the text of an expression that is this text followed by (\d+), as in "step
// (\d+)", or nil for any other. Such an expression needs no regular expression.
func numberAfter(pattern string) []byte {
	text, ok := strings.CutSuffix(pattern, `(\d+)`)
	if !ok || text == "" || !utf8.ValidString(text) || regexp.QuoteMeta(text) != text {
		return nil
	}
	return []byte(text)
}

// findNumber returns what FindSubmatchIndex would return for text followed by (\d+).
func findNumber(line, text []byte, match []int) []int {
	for from := 0; ; {
		at := bytes.Index(line[from:], text)
		if at < 0 {
			return nil
		}
		begin := from + at + len(text)
		end := begin
		for end < len(line) && line[end] >= '0' && line[end] <= '9' {
			end++
		}
		if end > begin {
			return append(match, from+at, end, begin, end)
		}
		from += at + 1
	}
}

// ofRunes returns the longest usable part of a literal. If case is ignored, k and s have a third
// form beyond ASCII, so they and non-ASCII letters end a part.
func ofRunes(runes []rune, fold bool) literal {
	if !fold {
		return literal{text: []byte(string(runes))}
	}
	best := ""
	for _, part := range strings.FieldsFunc(strings.ToLower(string(runes)), func(c rune) bool { return c >= 0x80 || c == 'k' || c == 's' }) {
		if len(part) > len(best) {
			best = part
		}
	}
	return literal{text: []byte(best), fold: best != ""}
}

package failure

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes control characters out, so that text of somebody else's cannot move the
// cursor, paint, or hide what stands beside it on a terminal: an escape is ^[, as kubectl
// writes it. Line feeds and tabs stay. Bytes that are no UTF-8 become U+FFFD.
func Visible(text string) string {
	if strings.IndexFunc(text, hides) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hides(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string('@'+r))
		case r == 0x7f:
			b.WriteString("^?")
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hides: a control character, or one that turns the direction of what follows.
func hides(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029)
}

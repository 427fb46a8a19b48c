package failure

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes control characters visible, so that foreign text cannot move the cursor, change
// colors or hide other text on a terminal. It writes an escape as ^[, like kubectl. Line feeds and
// tabs stay. Bytes that are not UTF-8 become U+FFFD.
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

// hides reports whether r is a control character, or changes the direction of the following text.
func hides(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029)
}

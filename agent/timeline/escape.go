package timeline

import (
	"strings"
	"unicode"
)

// mostText is the length in characters of a name, a cause or a detail on the page.
const mostText = 300

// plain returns text of others for the page and the picture, with at most mostText characters. It
// replaces characters that XML does not allow, and characters that change the direction of the text.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x2028, r == 0x2029, r == 0xfffe, r == 0xffff:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	return short(text, mostText)
}

// markup replaces the characters that have a meaning in HTML and XML.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escaped returns text of others for an element or a quoted attribute of HTML or XML.
func escaped(text string) string { return markup.Replace(plain(text)) }

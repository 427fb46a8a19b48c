package metrics

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// finder finds the values of one metric.
type finder struct {
	name   []byte
	longer [][]byte // other requested names that end with this one
}

// scan calls found for every number of f's metric in piece, in order, with its text. It calls
// unread with what follows the name if that is no number.
func (f finder) scan(piece []byte, found func(value float64, text []byte), unread func(text []byte)) {
	for from := 0; ; {
		at := bytes.Index(piece[from:], f.name)
		if at < 0 {
			return
		}
		start, end := from+at, from+at+len(f.name)
		from = start + 1
		if !begins(piece[:start]) || f.isLonger(piece[:end]) {
			continue
		}
		rest, ok := separator(piece, start, end)
		if !ok {
			continue
		}
		value, text, ok := quotedNumber(rest)
		switch {
		case ok:
			found(value, text)
		case len(rest) > 0:
			word := rest[:min(len(rest), maxSample)]
			if blank := bytes.IndexAny(word, " \t"); blank > 0 {
				word = word[:blank]
			}
			unread(piece[start : len(piece)-len(rest)+len(word)])
		}
	}
}

// maxSample is how many bytes of an unread value are kept.
const maxSample = 24

func (f finder) isLonger(upTo []byte) bool {
	for _, name := range f.longer {
		if bytes.HasSuffix(upTo, name) && begins(upTo[:len(upTo)-len(name)]) {
			return true
		}
	}
	return false
}

// begins reports whether a word may begin after before: "loss" is not the end of val_loss,
// val-loss, train/loss, model.loss or Verlustloss. A period joins only words, so
// "training...loss=1" has a loss.
func begins(before []byte) bool {
	r, size := utf8.DecodeLastRune(before)
	if r == '.' {
		r, _ = utf8.DecodeLastRune(before[:len(before)-size])
		return !isWord(r)
	}
	return !isWord(r) && r != '-' && r != '/' && r != '@'
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_')
}

// separator reads the = or : after the name piece[start:end], with blanks around it, and returns
// what follows. A quote after the name must also be before it.
func separator(piece []byte, start, end int) ([]byte, bool) {
	rest := piece[end:]
	if len(rest) > 0 && isQuote(rest[0]) {
		if start == 0 || piece[start-1] != rest[0] {
			return nil, false
		}
		rest = rest[1:]
	}
	rest = blanks(rest)
	if len(rest) == 0 || rest[0] != '=' && rest[0] != ':' {
		return nil, false
	}
	return blanks(rest[1:]), true
}

// quotedNumber reads a number, quoted or not.
func quotedNumber(b []byte) (value float64, text []byte, ok bool) {
	if len(b) == 0 || !isQuote(b[0]) {
		value, length, ok := number(b)
		return value, b[:length], ok
	}
	end := bytes.IndexByte(b[1:], b[0])
	if end < 0 {
		return 0, nil, false
	}
	value, length, ok := number(b[1 : 1+end])
	return value, b[1 : 1+length], ok
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func blanks(b []byte) []byte { return bytes.TrimLeft(b, " \t") }

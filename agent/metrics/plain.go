package metrics

import "bytes"

const escape = 0x1b

// plain removes terminal escape sequences (ECMA-48) from line. Colors disappear. Sequences that
// move the cursor or clear become a line feed, so that two texts are not joined. line is not
// changed.
func plain(line []byte) []byte {
	if bytes.IndexByte(line, escape) < 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	for len(line) > 0 {
		if line[0] != escape {
			out = append(out, line[0])
			line = line[1:]
			continue
		}
		n, colour := sequence(line)
		if !colour {
			out = append(out, '\n')
		}
		line = line[n:]
	}
	return out
}

// sequence returns the length of the escape sequence at the start of b, and whether it is a color
// or a title, which leave the text in place.
func sequence(b []byte) (length int, colour bool) {
	if len(b) < 2 {
		return 1, true
	}
	switch b[1] {
	case '[': // control sequence: parameters, then a final byte
		for i := 2; i < len(b); i++ {
			if 0x40 <= b[i] && b[i] <= 0x7e {
				return i + 1, b[i] == 'm'
			}
			if b[i] < 0x20 || b[i] > 0x7e {
				return i, false
			}
		}
		return len(b), false
	case ']': // operating system command, up to BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1, true
			}
			if b[i] == escape {
				return min(i+2, len(b)), true
			}
		}
		return len(b), true
	}
	return 2, false
}

// pieceEnd returns where the first piece of text ends: at a control character other than a tab.
// Progress bars go back with \r or \b.
func pieceEnd(text []byte) int {
	for i, c := range text {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return i
		}
	}
	return len(text)
}

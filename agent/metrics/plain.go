package metrics

import "bytes"

const escape = 0x1b

// plain takes the terminal's escape sequences out of line: colours vanish,
// what moves the cursor or clears becomes a line feed, so that two texts are
// not joined to one. Sequences are those of ECMA-48. line is not changed.
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

// sequence is the length of the escape sequence that b begins with, and whether
// it is a colour or a title, which leave the text as it stands.
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
	case ']': // operating system command, to BEL or ESC \
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

// pieceEnd is where the first piece of text ends: at a control character other
// than the tabulator. Progress bars go back with \r or \b.
func pieceEnd(text []byte) int {
	for i, c := range text {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return i
		}
	}
	return len(text)
}

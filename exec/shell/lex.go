package shell

import "strings"

// part is a piece of a word: literal text, or the name of a variable.
type part struct {
	text     string
	variable bool
	quoted   bool // in quotes or after a backslash: not split, no pattern, no tilde
}

type word []part

// literal returns the text of a word without variables.
func (w word) literal() (string, bool) {
	var b strings.Builder
	for _, p := range w {
		if p.variable {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// plain returns the text of a word without any quotes. Only such a word is a reserved word, or
// begins an assignment.
func (w word) plain() (string, bool) {
	if len(w) == 1 && !w[0].variable && !w[0].quoted {
		return w[0].text, true
	}
	return "", false
}

// token is a word, or one of the separators ";", "\n" and ")".
type token struct {
	op    string
	word  word
	quiet bool // followed by "> /dev/null 2>&1"
}

type lexer struct {
	line   string
	at     int
	out    []token
	word   word
	text   []byte // the current literal part, not in word yet
	quoted bool   // the literal part is quoted
	open   bool   // there is a literal part, possibly empty
	begun  bool   // a word has begun, possibly empty
}

// maxLine is the limit of a line in bytes. Reading a line takes time proportional to its length,
// and cannot be interrupted. sh(1) gets at most 128 KiB.
const maxLine = 1 << 20

func lex(line string) ([]token, error) {
	switch {
	case len(line) > maxLine:
		return nil, refuse("a line of more than 1 MiB")
	case strings.IndexByte(line, 0) >= 0:
		return nil, refuse("a NUL byte")
	}
	l := &lexer{line: line}
	for l.at < len(l.line) {
		if err := l.step(); err != nil {
			return nil, err
		}
	}
	l.flush()
	return l.out, nil
}

// add appends literal text to the word, and merges adjacent parts of one kind.
func (l *lexer) add(text string, quoted bool) {
	if l.open && l.quoted != quoted {
		l.endPart()
	}
	l.begun, l.open, l.quoted = true, true, quoted
	l.text = append(l.text, text...)
}

// endPart moves the current literal part into the word.
func (l *lexer) endPart() {
	if l.open {
		l.word = append(l.word, part{text: string(l.text), quoted: l.quoted})
	}
	l.text, l.open = l.text[:0], false
}

func (l *lexer) flush() {
	l.endPart()
	if l.begun {
		l.out = append(l.out, token{word: l.word})
	}
	l.word, l.begun = nil, false
}

// step reads one character, or one quoted piece, outside quotes.
func (l *lexer) step() error {
	c := l.line[l.at]
	switch c {
	case ' ', '\t':
		l.flush()
	case ';', '\n', ')':
		l.flush()
		l.out = append(l.out, token{op: string(c)})
	case '\'':
		return l.single()
	case '"':
		return l.double()
	case '$':
		return l.dollar(false)
	case '\\':
		switch {
		case l.at+1 == len(l.line):
			l.add(`\`, true)
		case l.line[l.at+1] == '\n':
			return refuse(`a continued line (\ and newline)`)
		default:
			l.add(l.line[l.at+1:l.at+2], true)
			l.at++
		}
	case '>':
		return l.discarded()
	case '~':
		if !l.begun {
			return refuse("a home directory (~)")
		}
		l.add("~", false)
	case '#':
		if !l.begun {
			return refuse("a comment (#)")
		}
		l.add("#", false)
	default:
		if what := l.refused(c); what != "" {
			return refuse(what)
		}
		l.add(l.line[l.at:l.at+1], false)
	}
	l.at++
	return nil
}

func (l *lexer) refused(c byte) string {
	double := strings.HasPrefix(l.line[l.at+1:], string(c))
	switch {
	case c == '|' && double:
		return "an alternative (||)"
	case c == '|':
		return "a pipe (|)"
	case c == '&' && double:
		return "a condition (&&)"
	case c == '&':
		return "a background command (&)"
	case c == '<' && double:
		return "a here-document (<<)"
	case c == '<':
		return "a redirection (<)"
	case c == '(':
		return "a subshell ( ( )"
	case c == '`':
		return "a command substitution (`)"
	case c == '*' || c == '?' || c == '[':
		return "a file name pattern (" + string(c) + ")"
	}
	return ""
}

// discarded reads "> /dev/null 2>&1", which only `cd` may have (see readStep), and rejects any
// other redirection.
func (l *lexer) discarded() error {
	l.endPart()
	if text, ok := l.word.plain(); ok && strings.Trim(text, "0123456789") == "" {
		return refuse("a redirection (" + text + ">)")
	}
	rest := strings.TrimLeft(l.line[l.at+1:], " \t")
	rest, file := strings.CutPrefix(rest, "/dev/null")
	blanks := strings.TrimLeft(rest, " \t")
	after, both := strings.CutPrefix(blanks, "2>&1")
	ends := after == "" || strings.IndexByte(" \t\n;", after[0]) >= 0
	l.flush()
	if n := len(l.out); file && len(blanks) < len(rest) && both && ends && n > 0 && l.out[n-1].op == "" {
		l.out[n-1].quiet = true
		l.at = len(l.line) - len(after)
		return nil
	}
	return refuse("a redirection (>)")
}

func (l *lexer) single() error {
	end := strings.IndexByte(l.line[l.at+1:], '\'')
	if end < 0 {
		return refuse("a quote that does not close (')")
	}
	l.add(l.line[l.at+1:l.at+1+end], true)
	l.at += end + 2
	return nil
}

func (l *lexer) double() error {
	l.add("", true)
	for l.at++; l.at < len(l.line); {
		c := l.line[l.at]
		switch {
		case c == '"':
			l.at++
			return nil
		case c == '`':
			return refuse("a command substitution (`)")
		case c == '$':
			if err := l.dollar(true); err != nil {
				return err
			}
			continue
		case strings.HasPrefix(l.line[l.at:], "\\\n"):
			return refuse(`a continued line (\ and newline)`)
		case c == '\\' && l.at+1 < len(l.line) && strings.IndexByte("$`\"\\", l.line[l.at+1]) >= 0:
			l.at++
			l.add(l.line[l.at:l.at+1], true)
		default:
			l.add(l.line[l.at:l.at+1], true)
		}
		l.at++
	}
	return refuse(`a quote that does not close (")`)
}

// dollar reads $NAME, ${NAME}, or a lone $.
func (l *lexer) dollar(quoted bool) error {
	rest := l.line[l.at+1:]
	name := rest[:nameLength(rest)]
	size := len(name)
	switch {
	case name != "":
	case strings.HasPrefix(rest, "{"):
		name = rest[1 : 1+nameLength(rest[1:])]
		if name == "" || !strings.HasPrefix(rest[1+len(name):], "}") {
			return refuse("a parameter expansion other than ${NAME}")
		}
		size = len(name) + 2
	case strings.HasPrefix(rest, "("):
		return refuse("a command substitution ($( )")
	case rest == "" || strings.IndexByte(" \t\n;)/.:,=%+^]}\\", rest[0]) >= 0, quoted && rest[0] == '"':
		l.add("$", quoted)
		l.at++
		return nil
	default:
		return refuse("a special parameter ($" + rest[:1] + ")")
	}
	l.endPart()
	l.begun = true
	l.word = append(l.word, part{text: name, variable: true, quoted: quoted})
	l.at += 1 + size
	return nil
}

// nameLength returns the length of the variable name at the start of s, or 0.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

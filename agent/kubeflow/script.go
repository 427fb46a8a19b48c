package kubeflow

import (
	"slices"
	"strings"
)

// The scanner reads a shell script only as far as needed to find its top-level commands. These are
// not inside ( ), { }, if, for, while, case, a quote or a substitution.

// statement is a top-level command, script[start:end], with the operator that ends it.
type statement struct {
	start, end int
	words      []string // without quotes; nil if it is compound or part of a pipe
	op         string   // && || ; & or a newline; "" at the end of the script
}

// opening and closing are the words that begin and end compound commands.
var (
	opening = []string{"if", "while", "until", "for", "case", "select", "{"}
	closing = []string{"fi", "done", "esac", "}"}
	joining = []string{"then", "do", "else", "elif", "!", "time"}
)

// scanner reads a script.
type scanner struct {
	text  string
	at    int
	open  []byte // open constructs: ( or, for a keyword, k
	word  strings.Builder
	in    bool // in a word
	now   statement
	plain bool // the statement so far is one simple command
	all   []statement
}

// statements splits a script. ok is false if it has a here-document, or an unclosed construct.
func statements(script string) (all []statement, ok bool) {
	s := &scanner{text: script, plain: true}
	for s.at < len(script) {
		if !s.step() {
			return nil, false
		}
	}
	s.cut("", 0)
	return s.all, len(s.open) == 0
}

// step reads one character, or one construct.
func (s *scanner) step() (ok bool) {
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case c == '\\' && len(rest) > 1:
		if rest[1] != '\n' {
			s.add(rest[1:2])
		}
		s.at += 2
	case c == '\'' || c == '"' || c == '`':
		return s.quote(c)
	case strings.HasPrefix(rest, "$(") || strings.HasPrefix(rest, "${"):
		end, ok := nested(s.text, s.at+1)
		if ok {
			s.add(s.text[s.at : end+1])
			s.at = end + 1
		}
		return ok
	case c == '#' && !s.in:
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.text)
		}
	case c == ' ' || c == '\t':
		s.endWord()
		s.at++
	case strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, "<<<"):
		return false
	case c == '(' || c == ')':
		s.endWord()
		s.plain = false
		s.at++
		return c == '(' && s.push('(') || c == ')' && (s.pop('(') || len(s.open) > 0) // the latter: of a case
	default:
		s.operator(rest)
	}
	return true
}

// operator reads an operator, or a character of a word.
func (s *scanner) operator(rest string) {
	for _, op := range []string{"&&", "||", ";;", "&>", "|", ";", "\n", "&", ">&", "<&"} {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch op {
		case "&>", ">&", "<&":
			s.add(op)
			s.at += len(op)
		case "|":
			s.endWord()
			s.plain = false
			s.at++
		default:
			s.endWord()
			s.cut(op, len(op))
		}
		return
	}
	s.add(rest[:1])
	s.at++
}

// cut ends a statement, unless it is inside a construct.
func (s *scanner) cut(op string, length int) {
	s.endWord()
	if len(s.open) > 0 {
		s.plain = false
		s.now.words = nil
		s.at += length
		return
	}
	if s.now.end, s.now.op = s.at, op; !s.plain {
		s.now.words = nil
	}
	if strings.TrimSpace(s.text[s.now.start:s.now.end]) != "" {
		s.all = append(s.all, s.now)
	}
	s.at += length
	s.now, s.plain = statement{start: s.at}, true
}

func (s *scanner) add(text string) {
	s.in = true
	s.word.WriteString(text)
}

// endWord ends a word. The first word of a command may be a keyword.
func (s *scanner) endWord() {
	if !s.in {
		return
	}
	word := s.word.String()
	s.word.Reset()
	s.in = false
	if len(s.now.words) == 0 {
		switch {
		case slices.Contains(opening, word):
			s.push('k')
			s.plain = false
			return
		case slices.Contains(closing, word) && s.pop('k'):
			return
		case slices.Contains(joining, word):
			s.plain = false
			return
		}
	}
	s.now.words = append(s.now.words, word)
}

func (s *scanner) push(what byte) bool {
	s.open = append(s.open, what)
	return true
}

// pop closes the innermost construct if it is of that type.
func (s *scanner) pop(what byte) bool {
	last := len(s.open) - 1
	if last < 0 || s.open[last] != what {
		return false
	}
	s.open = s.open[:last]
	return true
}

// quote reads the text between two of c.
func (s *scanner) quote(c byte) (ok bool) {
	for i := s.at + 1; i < len(s.text); i++ {
		switch {
		case c == '"' && s.text[i] == '`':
			return false
		case c == '"' && strings.HasPrefix(s.text[i:], "$("):
			end, ok := nested(s.text, i+1)
			if i = end; !ok {
				return false
			}
		case s.text[i] == '\\' && c != '\'':
			i++
		case s.text[i] == c:
			s.add(s.text[s.at+1 : i])
			s.at = i + 1
			return true
		}
	}
	return false
}

// nested returns where the bracket at open is closed. ok is false if there is a quote in between,
// because brackets in a quote may not count.
func nested(text string, open int) (end int, ok bool) {
	closing := map[byte]byte{'(': ')', '{': '}'}[text[open]]
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '\'', '"', '\\', '`':
			return i, false
		case text[open]:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i, true
			}
		}
	}
	return len(text), false
}

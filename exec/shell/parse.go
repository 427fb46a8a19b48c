package shell

import (
	"slices"
	"strings"
)

// profilePrefix is what Open MPI's rsh launcher puts before the daemon's line, and closes with ")",
// if the local shell is sh or ksh (orte/mca/plm/rsh, v4.1).
const profilePrefix = "( test ! -r ./.profile || . ./.profile;"

// Reserved words and built-in commands of sh that this shell does not run. Programs of these names
// rarely exist, and "not found" would be confusing.
var (
	reserved = []string{"!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "then", "time", "until", "while", "[["}
	builtins = []string{".", ":", "alias", "bg", "break", "command", "continue", "eval", "exit", "fg", "getopts", "hash", "jobs", "local", "read", "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "wait"}
)

// assignment is NAME=value, or only NAME after `export`.
type assignment struct {
	name  string
	value word
	bare  bool // without "="
}

// step is one command of the line.
type step struct {
	verb    string // "set", "export", "cd" or "run"
	assigns []assignment
	words   []word // cd: the directory; run: the argv
	quiet   bool   // cd: a failure is not reported
}

// Program is a parsed line.
type Program struct {
	steps   []step
	profile bool // the line first reads ./.profile
}

// Parse reads one line of shell. Its only error is a *Refusal.
func Parse(line string) (Program, error) {
	var p Program
	line = strings.TrimLeft(line, " \t\n")
	if rest, ok := strings.CutPrefix(line, profilePrefix); ok {
		p.profile, line = true, rest
	}
	tokens, err := lex(line)
	if err != nil {
		return Program{}, err
	}
	if p.profile {
		last := len(tokens) - 1
		if last < 0 || tokens[last].op != ")" {
			return Program{}, refuse("a subshell ( ( ) that does not close")
		}
		tokens = tokens[:last]
	}
	return p, p.commands(tokens)
}

// commands splits tokens at the separators and reads each piece.
func (p *Program) commands(tokens []token) error {
	var piece []token
	for i := 0; i <= len(tokens); i++ {
		if i < len(tokens) && tokens[i].op == "" {
			piece = append(piece, tokens[i])
			continue
		}
		op := "\n"
		if i < len(tokens) {
			op = tokens[i].op
		}
		switch {
		case op == ")":
			return refuse("a lone )")
		case len(piece) == 0 && op == ";":
			return refuse("a ; with no command before it")
		case len(piece) == 0:
			continue
		}
		if n := len(p.steps); n > 0 && p.steps[n-1].verb == "run" {
			return refuse("a second command in one line")
		}
		s, err := readStep(piece)
		if err != nil {
			return err
		}
		p.steps = append(p.steps, s)
		piece = nil
	}
	return nil
}

func readStep(piece []token) (step, error) {
	var s step
	for len(piece) > 0 {
		a, ok, err := readAssignment(piece[0].word)
		if err != nil {
			return step{}, err
		}
		if !ok {
			break
		}
		s.assigns = append(s.assigns, a)
		if piece[0].quiet {
			return step{}, refuse("a redirection (>)")
		}
		piece = piece[1:]
	}
	for i, t := range piece {
		if t.quiet && i < len(piece)-1 {
			return step{}, refuse("a redirection (>)")
		}
		s.words = append(s.words, t.word)
		s.quiet = t.quiet
	}
	if len(s.words) == 0 {
		s.verb = "set"
		return s, nil
	}
	return s, s.classify()
}

// classify determines the verb of a step with words.
func (s *step) classify() error {
	s.verb = "run"
	if text, ok := s.words[0].plain(); ok && len(s.assigns) == 0 && slices.Contains(reserved, text) {
		return refuse("the word " + text)
	}
	name, _ := s.words[0].literal()
	switch {
	case slices.Contains(builtins, name):
		return refuse("the command " + name)
	case name == "export":
		return s.export()
	case name == "cd":
		return s.cd()
	case s.quiet:
		return refuse("a redirection (>)")
	case name == "exec":
		s.words = s.words[1:]
		if len(s.words) == 0 {
			return refuse("exec without a command")
		}
		if next, ok := s.words[0].literal(); !ok || strings.HasPrefix(next, "-") {
			return refuse("exec with an option or a variable as command")
		}
	}
	return nil
}

func (s *step) export() error {
	if s.quiet || len(s.assigns) > 0 || len(s.words) == 1 {
		return refuse("this form of export")
	}
	for _, w := range s.words[1:] {
		a, ok, err := readAssignment(w)
		if err != nil {
			return err
		}
		if !ok {
			name, literal := w.literal()
			if !literal || name == "" || nameLength(name) != len(name) {
				return refuse("this form of export")
			}
			a = assignment{name: name, bare: true}
		}
		s.assigns = append(s.assigns, a)
	}
	s.verb, s.words = "export", nil
	return nil
}

func (s *step) cd() error {
	if len(s.assigns) > 0 || len(s.words) > 2 {
		return refuse("this form of cd")
	}
	if len(s.words) == 2 {
		if dir, ok := s.words[1].literal(); ok && strings.HasPrefix(dir, "-") {
			return refuse("cd with an option")
		}
	}
	s.verb, s.words = "cd", s.words[1:]
	return nil
}

// readAssignment reads a word that begins with an unquoted NAME=.
func readAssignment(w word) (assignment, bool, error) {
	if len(w) == 0 || w[0].variable || w[0].quoted {
		return assignment{}, false, nil
	}
	n := nameLength(w[0].text)
	if n == 0 || n == len(w[0].text) || w[0].text[n] != '=' {
		return assignment{}, false, nil
	}
	a := assignment{name: w[0].text[:n]}
	if a.name == "IFS" {
		return a, false, refuse("an assignment to IFS")
	}
	a.value = append(word{{text: w[0].text[n+1:]}}, w[1:]...)
	for _, p := range a.value {
		if !p.variable && !p.quoted && strings.Contains(p.text, "~") {
			return a, false, refuse("a home directory (~)")
		}
	}
	return a, true, nil
}

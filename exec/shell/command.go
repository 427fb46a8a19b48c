package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Command is the meaning of a line.
type Command struct {
	Env  []string // K=V to add to the environment; the last one counts
	Dir  string   // "" or the absolute directory in which to run
	Argv []string // empty: the line runs nothing, and exits with 0
}

// mostExpanded limits the bytes of a line's expansions. The kernel does not start a command with
// more, and A=$B$B;B=$A$A;... would double without end.
const mostExpanded = 8 << 20

// Command evaluates the line for a process that would start in dir (absolute) with environment env
// (K=V). Argv[0] must be looked up in the PATH of the environment after Env. Besides a *Refusal it
// returns an error for a `cd` that cannot succeed, unless its output goes to /dev/null. In that
// case the rest runs in the same directory, as in sh.
func (p Program) Command(env []string, dir string) (Command, error) {
	if p.profile && unix.Access(filepath.Join(dir, ".profile"), unix.R_OK) == nil {
		return Command{}, refuse("the ./.profile that lies in " + dir)
	}
	st := newState(env, dir)
	for _, s := range p.steps {
		if err := st.apply(s); err != nil {
			return Command{}, err
		}
		if st.room < 0 {
			return Command{}, refuse("expansions of more than 8 MiB")
		}
	}
	return st.result, nil
}

// state is the state of a shell: variables, which of them are exported, and the result.
type state struct {
	room     int // bytes that expansions may still use
	vars     map[string]string
	exported map[string]bool
	dir      string
	result   Command
}

func newState(env []string, dir string) *state {
	st := &state{room: mostExpanded, vars: map[string]string{}, exported: map[string]bool{}, dir: dir}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			st.vars[name], st.exported[name] = value, true
		}
	}
	if _, ok := st.vars["PWD"]; !ok {
		st.vars["PWD"] = dir
	}
	return st
}

func (st *state) apply(s step) error {
	switch s.verb {
	case "set":
		for _, a := range s.assigns {
			st.set(a.name, st.join(a.value))
		}
	case "export":
		// export is a command: its words are expanded before any of them is assigned.
		values := make([]string, len(s.assigns))
		for i, a := range s.assigns {
			if !a.bare {
				values[i] = st.join(a.value)
			}
		}
		for i, a := range s.assigns {
			value, known := st.vars[a.name]
			if !a.bare {
				value, known = values[i], true
			}
			st.exported[a.name] = true
			if known {
				st.set(a.name, value)
			}
		}
	case "cd":
		return st.cd(s)
	default:
		return st.run(s)
	}
	return nil
}

// set sets a variable, and adds it to the result if it is exported.
func (st *state) set(name, value string) {
	st.vars[name] = value
	st.room -= len(value)
	if st.exported[name] {
		st.result.Env = append(st.result.Env, name+"="+value)
	}
}

func (st *state) cd(s step) error {
	dir := st.vars["HOME"]
	if len(s.words) == 1 {
		fields, err := st.fields(s.words[0])
		if err != nil {
			return err
		}
		if len(fields) != 1 || strings.HasPrefix(fields[0], "-") {
			return refuse("this form of cd")
		}
		dir = fields[0]
	}
	if dir == "" {
		return refuse("cd to an empty name")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(st.dir, dir)
	}
	dir = filepath.Clean(dir)
	if err := enter(dir); err != nil {
		if s.quiet {
			return nil
		}
		return &os.PathError{Op: "cd", Path: dir, Err: err}
	}
	old := st.dir
	st.dir, st.result.Dir = dir, dir
	st.exported["PWD"], st.exported["OLDPWD"] = true, true
	st.set("OLDPWD", old)
	st.set("PWD", dir)
	return nil
}

// enter returns the reason why dir cannot be a working directory.
func enter(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return errors.Unwrap(err) // an os.PathError also names the call and the path
	}
	if !info.IsDir() {
		return unix.ENOTDIR
	}
	return unix.Access(dir, unix.X_OK)
}

// run evaluates the argv. Variables before the command are only for the command; its own words are
// expanded without them.
func (st *state) run(s step) error {
	var argv []string
	for _, w := range s.words {
		fields, err := st.fields(w)
		if err != nil {
			return err
		}
		argv = append(argv, fields...)
	}
	switch {
	case len(argv) == 0:
		return refuse("a command whose name is empty")
	case argv[0] == "cd", argv[0] == "export", argv[0] == "exec", slices.Contains(builtins, argv[0]):
		return refuse("the command " + argv[0] + " out of a variable")
	}
	for _, a := range s.assigns {
		value := st.join(a.value)
		st.result.Env = append(st.result.Env, a.name+"="+value)
		// POSIX does not specify whether VAR=x VAR2=$VAR CMD sees VAR; shells do see it.
		st.vars[a.name] = value
	}
	st.result.Argv = argv
	return nil
}

// join expands a word without splitting it: the value of an assignment.
func (st *state) join(w word) string {
	var b strings.Builder
	for _, p := range w {
		text := p.text
		if p.variable {
			text = st.vars[p.text]
		}
		if st.room -= len(text); st.room < 0 {
			return "" // Command rejects the line
		}
		b.WriteString(text)
	}
	return b.String()
}

// fields expands a word of a command. It splits an unquoted variable at blanks, and rejects one
// that would be a file name pattern.
func (st *state) fields(w word) ([]string, error) {
	if len(w) == 0 {
		return []string{""}, nil
	}
	var out []string
	var field strings.Builder
	begun := false
	flush := func() {
		if begun {
			out = append(out, field.String())
			field.Reset()
			begun = false
		}
	}
	for _, p := range w {
		if st.room -= len(p.text); p.variable {
			st.room -= len(st.vars[p.text])
		}
		if st.room < 0 {
			return nil, refuse("expansions of more than 8 MiB")
		}
		switch {
		case !p.variable:
			field.WriteString(p.text)
			begun = true
		case p.quoted:
			field.WriteString(st.vars[p.text])
			begun = true
		default:
			value := st.vars[p.text]
			if strings.ContainsAny(value, "*?[") {
				return nil, refuse("a file name pattern out of $" + p.text)
			}
			for i, piece := range strings.FieldsFunc(" "+value+" ", func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
				if i > 0 || strings.IndexByte(" \t\n", value[0]) >= 0 {
					flush()
				}
				field.WriteString(piece)
				begun = true
			}
			if n := len(value); n > 0 && strings.IndexByte(" \t\n", value[n-1]) >= 0 {
				flush()
			}
		}
	}
	flush()
	return out, nil
}

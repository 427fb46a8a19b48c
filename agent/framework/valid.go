package framework

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"
)

// Limits of the files that are written to a worker before anything starts there, in bytes. They are
// sent once for each worker and stay in its memory-backed directory.
const (
	mostFile  = 1 << 20
	mostFiles = 4 << 20
)

// Validate returns an error if a Launch does not fit this Cluster, for example because a worker or a
// rank does not exist or occurs twice. Other errors are names that no environment or directory can
// hold, and variables without a reason. Validate checks what a plugin returns and, in tests, what
// every framework returns.
func Validate(l Launch, c Cluster) error {
	if err := validEnv(l.Env); err != nil {
		return fmt.Errorf("the launcher's environment: %w", err)
	}
	if err := validArgv(l.Argv); err != nil {
		return fmt.Errorf("the launcher's command: %w", err)
	}
	if err := validFiles(l.Files); err != nil {
		return err
	}
	for _, w := range l.Warnings {
		if !printable(w) {
			return fmt.Errorf("warning %.80q is empty or has control characters", w)
		}
	}
	for i, p := range l.Processes {
		if err := validProcess(p, c); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
	}
	return validRanks(l.Processes)
}

func validProcess(p Process, c Cluster) error {
	switch {
	case p.Worker < 0 || p.Worker >= len(c.Workers):
		return fmt.Errorf("it is on worker %d, but there are only %d workers", p.Worker, len(c.Workers))
	case p.Rank < -1:
		return fmt.Errorf("its rank is %d, want -1 or more", p.Rank)
	case p.Local < 0:
		return fmt.Errorf("its local rank is %d, want 0 or more", p.Local)
	case p.Index < 0:
		return fmt.Errorf("its index is %d, want 0 or more", p.Index)
	case p.Part < Works || p.Part > Serves:
		return fmt.Errorf("its part is %d, want %d to %d", p.Part, Works, Serves)
	case p.Role != "" && !printable(p.Role):
		return fmt.Errorf("its role %.80q has control characters", p.Role)
	}
	if err := validArgv(p.Argv); err != nil {
		return err
	}
	if p.After != "" {
		host, port, err := net.SplitHostPort(p.After)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("it starts after %.80q, which is not HOST:PORT", p.After)
		}
	}
	return validEnv(p.Env)
}

// validRanks requires ranks 0 to n-1, each once, and on every worker local ranks from 0, each once.
// No index of a role may occur twice.
func validRanks(all []Process) error {
	type place struct{ worker, local int }
	type seat struct {
		role  string
		index int
	}
	ranks, locals, seats := map[int]int{}, map[place]int{}, map[seat]int{}
	most := map[int]int{} // number of ranks of a worker
	for i, p := range all {
		if j, twice := seats[seat{p.Role, p.Index}]; twice {
			return fmt.Errorf("processes %d and %d both have the role %q and the index %d", j, i, p.Role, p.Index)
		}
		seats[seat{p.Role, p.Index}] = i
		if p.Rank < 0 {
			continue
		}
		if j, twice := ranks[p.Rank]; twice {
			return fmt.Errorf("processes %d and %d both have rank %d", j, i, p.Rank)
		}
		ranks[p.Rank] = i
		at := place{p.Worker, p.Local}
		if j, twice := locals[at]; twice {
			return fmt.Errorf("processes %d and %d both have local rank %d on worker %d", j, i, p.Local, p.Worker)
		}
		locals[at] = i
		most[p.Worker]++
	}
	for i, p := range all {
		if p.Rank >= len(ranks) {
			return fmt.Errorf("process %d has rank %d, but there are only %d ranks", i, p.Rank, len(ranks))
		}
		if p.Rank >= 0 && p.Local >= most[p.Worker] {
			return fmt.Errorf("process %d has local rank %d, but worker %d has only %d ranks", i, p.Local, p.Worker, most[p.Worker])
		}
	}
	return nil
}

func validEnv(env []Var) error {
	seen := map[string]bool{}
	for _, v := range env {
		switch {
		case v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || !printable(v.Name):
			return fmt.Errorf("%.80q is not the name of a variable", v.Name)
		case seen[v.Name]:
			return fmt.Errorf("%s is set twice", v.Name)
		case strings.ContainsRune(v.Value, 0):
			return fmt.Errorf("the value of %s has a zero byte", v.Name)
		case !printable(v.Why):
			return fmt.Errorf("the reason for %s is not one line of printable text", v.Name)
		}
		seen[v.Name] = true
	}
	return nil
}

func validArgv(argv []string) error {
	if len(argv) > 0 && argv[0] == "" {
		return errors.New("the first word of its command is empty")
	}
	for _, word := range argv {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("its command has a zero byte in %.80q", word)
		}
	}
	return nil
}

func validFiles(files []File) error {
	seen := map[string]bool{}
	total := 0
	for _, f := range files {
		total += len(f.Data)
		switch {
		case f.Name == "" || f.Name == "." || f.Name == ".." || strings.Contains(f.Name, "/") || !printable(f.Name):
			return fmt.Errorf("%.80q is not a file name, want no directory and no control characters", f.Name)
		case seen[f.Name]:
			return fmt.Errorf("file %s is given twice", f.Name)
		case len(f.Data) > mostFile || total > mostFiles:
			return fmt.Errorf("file %s is too large: %d bytes, and %d with the files before it; the limits are %d for one file and %d for all",
				f.Name, len(f.Data), total, mostFile, mostFiles)
		}
		seen[f.Name] = true
	}
	return nil
}

// printable reports whether s stays on one line of a terminal and contains no control character.
func printable(s string) bool {
	return s != "" && strings.IndexFunc(s, unicode.IsControl) < 0
}

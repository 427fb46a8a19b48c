package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/hostfile"
	"github.com/musterhq/muster/rendezvous"
)

// given is the meaning of --hostfile. If the user's file names workers, the launcher reads it. If
// there is no file, or one that a run wrote, the launcher writes its own list.
type given struct {
	path   string          // "": no --hostfile
	listed []hostfile.Host // hosts in the user's file; nil: the launcher writes the file
}

// giveHostfile determines the meaning of --hostfile. It refuses a file that is neither a list of
// hosts nor written by Muster, because writing would destroy it.
func giveHostfile(cfg config.Config) (given, error) {
	path, err := filepath.Abs(cfg.Hostfile)
	if err != nil {
		return given{}, failure.Usage("give an absolute path", "--hostfile=%s: %w", cfg.Hostfile, err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // keep the user's symbolic link
	} else if _, lerr := os.Lstat(path); lerr == nil {
		return given{}, failure.Usage("give a file, or a path that does not exist yet", "--hostfile=%s is a broken symbolic link: %w", cfg.Hostfile, err)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return given{}, failure.Usage(hostfileTakes, "hostfile cannot be written: %w", &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")})
	}
	if err == nil && !info.Mode().IsRegular() {
		return given{}, failure.Usage(hostfileTakes, "--hostfile=%s is not a regular file", cfg.Hostfile)
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return given{}, failure.Usage(hostfileTakes, "--hostfile=%s: %w", cfg.Hostfile, err)
	}
	if hostfile.Marked(text) || len(bytes.TrimSpace(text)) == 0 {
		if err := writableFor(path); err != nil {
			return given{}, failure.Usage(hostfileTakes, "hostfile cannot be written: %w", err)
		}
		return given{path: path}, nil
	}
	listed, err := hostfile.Parse(bytes.NewReader(text))
	if err == nil && len(listed) == 0 {
		err = errors.New("it lists no worker")
	}
	if err != nil {
		return given{}, failure.Usage("--hostfile reads a list of workers (w-0 slots=4), or writes one to a new file; remove this file, or give another path",
			"--hostfile=%s exists and is not overwritten: %w", cfg.Hostfile, err)
	}
	if err := cfg.MayList(); err != nil {
		return given{}, err
	}
	return given{path: path, listed: listed}, nil
}

// hostfileTakes is the hint for a path that cannot take a hostfile.
const hostfileTakes = "want a file that lists workers, or a path in a writable directory; without --hostfile the list is in a private directory"

// choose returns the workers that the user's file lists, in its order and with its slots, as mpirun
// reads them. A worker on several lines gets the sum of their slots. Without such a file, choose
// returns all workers.
func (g given) choose(ranked []rendezvous.Worker) ([]rendezvous.Worker, error) {
	if g.listed == nil {
		return ranked, nil
	}
	table := &broker.Hosts{}
	for _, w := range ranked {
		table.Add(broker.Target{Name: w.Name}, w.IP, w.Hostname)
	}
	var chosen []rendezvous.Worker
	for _, line := range g.listed {
		_, host, found := strings.Cut(line.Name, "@")
		if !found {
			host = line.Name
		}
		target, err := table.Resolve(host)
		if err != nil {
			return nil, failure.Usage("it lists workers by pod name, host name or address; to write a new list, remove it or give another path", "--hostfile=%s: %w", g.path, err)
		}
		if i := slices.IndexFunc(chosen, func(w rendezvous.Worker) bool { return w.Name == target.Name }); i >= 0 {
			chosen[i].Slots += line.Slots
			continue
		}
		w := ranked[slices.IndexFunc(ranked, func(w rendezvous.Worker) bool { return w.Name == target.Name })]
		w.Slots = line.Slots
		chosen = append(chosen, w)
	}
	return chosen, nil
}

// write writes our list to the user's path.
func (g given) write(list []byte) error {
	if g.path == "" || g.listed != nil {
		return nil
	}
	text, err := os.ReadFile(g.path)
	if err == nil && len(bytes.TrimSpace(text)) > 0 && !hostfile.Marked(text) {
		return &outfile.TakenError{Path: g.path} // another program has written it in the meantime
	}
	return hostfile.Write(g.path, hostfile.Mark(list), 0o644)
}

// Sentence reports whether --hostfile was read or written. It is "" without --hostfile.
func (p Paths) Sentence(planned plan.Plan, workers int) string {
	g := p.given
	slots := 0
	for _, h := range planned.Hosts {
		slots += h.Slots
	}
	what := fmt.Sprintf("%s, %s", phrase.Count(len(planned.Hosts), "worker"), phrase.Count(slots, "slot"))
	switch {
	case g.path == "":
		return ""
	case g.listed == nil:
		return fmt.Sprintf("hostfile %s written: %s", g.path, what)
	case len(planned.Hosts) < workers:
		return fmt.Sprintf("hostfile %s read: %s; %s not listed", g.path, what, phrase.Count(workers-len(planned.Hosts), "more worker"))
	}
	return fmt.Sprintf("hostfile %s read: %s", g.path, what)
}

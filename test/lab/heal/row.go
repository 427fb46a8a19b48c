//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// row is one job and what befalls it.
type row struct {
	key     string // on the command line
	what    string // for the table
	venv    string // the Python environment; "": Debian's Python alone
	also    []string
	workers int      // 0: 3
	flags   []string // of agent run
	argv    []string // its command; {scripts} and {shared} are directories
	worker  []string // of the workers' containers; nil: agent worker
	env     []string // K=V, in every pod
	alone   bool     // no launcher: the workers are all there is
	late    []int    // workers that are not made at first
	never   []int    // nor ever
	grace   int      // of the pods, seconds; 0: 30
	code    int      // that the launcher ends with
	times   int      // how often it is run; 0: once
	limit   time.Duration
	ci      bool // in the subset
	printed bool // what is seen is shown, and nothing is wanted
	during  func(ctx context.Context, w *world) error
	wants   []want
}

// want is what has to be seen. The text goes into the table.
type want func(w *world) (seen string, err error)

const rowLimit = 4 * time.Minute

func (r row) deadline() time.Duration {
	if r.limit != 0 {
		return r.limit
	}
	return rowLimit
}

func (r row) size() int {
	if r.workers != 0 {
		return r.workers
	}
	return 3
}

// judge gives what was seen, and the first thing that was not as wanted.
func judge(w *world, r row) (string, error) {
	if r.printed {
		return fmt.Sprintf("ended with %d", w.code), nil
	}
	var seen []string
	all := []want{nothingOld, portsOnce}
	for _, want := range append(append(all, ended(r.code)), r.wants...) {
		text, err := want(w)
		if err != nil {
			return strings.Join(seen, "; "), err
		}
		if text != "" {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; "), nil
}

func ended(code int) want {
	return func(w *world) (string, error) {
		for i, got := range w.codes {
			if got != code {
				return "", fmt.Errorf("%s ended with %d, not %d", w.pods()[i], got, code)
			}
		}
		return "", nil
	}
}

// nothingOld: where an attempt began nothing of an earlier one lived.
func nothingOld(w *world) (string, error) {
	if n := w.old(); n > 0 {
		return "", fmt.Errorf("%d processes of an earlier attempt were still there", n)
	}
	return "", nil
}

func portsOnce(w *world) (string, error) {
	if n := w.portsTwice(); n > 0 {
		return "", fmt.Errorf("%d ports were used by two attempts", n)
	}
	return "", nil
}

// attempts: the job took so many.
func attempts(n int) want {
	return func(w *world) (string, error) {
		last := 0
		for _, l := range w.said("start") {
			last = max(last, l.Attempt+1)
		}
		if last != n {
			return "", fmt.Errorf("%d attempts, not %d", last, n)
		}
		return fmt.Sprintf("%d attempts", n), nil
	}
}

// resumes: the second attempt went on where the checkpoint of the first stood, and
// brought the work to its end.
func resumes(w *world) (string, error) {
	from, there := 0, false
	for _, l := range w.said("begin") {
		if l.Attempt > 0 && (!there || l.Step < from) {
			from, there = l.Step, true
		}
	}
	if !there || from == 0 {
		return "", errors.New("no later attempt went on from a checkpoint")
	}
	return fmt.Sprintf("went on from step %d", from), finishes(w)
}

// finishes: every step was done.
func finishes(w *world) error {
	ends := w.said("end")
	if len(ends) == 0 {
		return errors.New("no rank came to its end")
	}
	return nil
}

// within: the time from the event to the next attempt's first line.
func within(figure string, bar time.Duration) want {
	return func(w *world) (string, error) {
		first := w.firstOf(1)
		if w.struck.IsZero() || first.IsZero() {
			return "", errors.New("nothing happened, or no second attempt began")
		}
		took := first.Sub(w.struck)
		w.figure(figure, took.Seconds())
		if took > bar {
			return "", fmt.Errorf("%.1f s from the loss to the new attempt's first line, not %s", took.Seconds(), bar)
		}
		return fmt.Sprintf("%.1f s from the loss to the new attempt's first line", took.Seconds()), nil
	}
}

// says: the launcher's output has these.
func says(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if !strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher does not say %q", word)
			}
		}
		return "", nil
	}
}

// silentAbout: it has none of these.
func silentAbout(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher says %q", word)
			}
		}
		return "", nil
	}
}

// venvDir finds an environment that `test/lab/frameworks -install` has made, the newest
// if there are several.
func venvDir(name string) (string, error) {
	cache := os.Getenv("MUSTER_FRAMEWORKS")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "muster", "frameworks")
	}
	found, err := filepath.Glob(filepath.Join(cache, name+"-"+strings.Repeat("[0-9a-f]", 10)))
	if err != nil {
		return "", err
	}
	newest, at := "", time.Time{}
	for _, dir := range found {
		if info, err := os.Stat(dir); err == nil && info.ModTime().After(at) {
			newest, at = dir, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no environment for %s in %s: test/lab/run frameworks -install", name, cache)
	}
	return newest, nil
}

//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/lab/table"
)

// row is a framework and a way to launch it. In flags, argv and env, {scripts}, {shared} (a directory that every
// worker has) and {venv} are placeholders for
// paths of the place where the row runs.
type row struct {
	key       string // name on the command line
	framework string
	way       string   // how it is launched, for the table
	venv      string   // recipe; its bin directory comes first in PATH. "": the place's own programs
	also      []string // recipes whose packages are put on PYTHONPATH
	workers   int      // 0: 3
	slots     int      // of each worker; 0: 1
	flags     []string // of agent run
	argv      []string
	env       []string // K=V, of the launcher and of the workers
	fakeEnv   []string // of fake workers only
	during    during   // action while the row runs; nil: none
	code      int      // expected exit code of agent run
	limit     time.Duration
	ci        bool   // in the subset for CI
	notFake   string // reason why fake workers cannot run it; "": they can
	want      []want
}

const (
	workers   = 3 // default number of workers
	rowLimit  = 3 * time.Minute
	framework = "--framework="

	reportName = "report.json" // below {shared}
)

// want is a check of an outcome. The text in seen goes into the table.
type want func(r row, o outcome) (seen string, err error)

// outcome is the result of a run that has ended.
type outcome struct {
	code     int
	out, err string // stdout and stderr of the launcher
	began    time.Time
	ended    time.Time
	struck   []time.Time    // times of the row's action
	report   *report.Report // nil: the row does not request one
	left     []string       // processes that were still running afterwards
}

// judge returns what the checks observed, and the error of the first check that failed.
func (r row) judge(o outcome) (string, error) {
	var seen []string
	for _, w := range append([]want{exitCode, nothingLeft}, r.want...) {
		text, err := w(r, o)
		if err != nil {
			return strings.Join(seen, "; "), err
		}
		if text != "" {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; "), nil
}

func (r row) size() int {
	if r.workers != 0 {
		return r.workers
	}
	return workers
}

func (r row) deadline() time.Duration {
	if r.limit != 0 {
		return r.limit
	}
	return rowLimit
}

// recipes returns the names of the row's environments.
func (r row) recipes() []string {
	if r.venv == "" {
		return r.also
	}
	return append([]string{r.venv}, r.also...)
}

// reported reads the launcher's report, if the row requested one.
func reported(shared string) (*report.Report, error) {
	text, err := os.ReadFile(filepath.Join(shared, reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var told report.Report
	return &told, json.Unmarshal(text, &told)
}

// fill replaces the placeholders in words by a place's paths.
func fill(words []string, paths map[string]string) []string {
	var pairs []string
	for name, path := range paths {
		pairs = append(pairs, "{"+name+"}", path)
	}
	replacer := strings.NewReplacer(pairs...)
	var filled []string
	for _, word := range words {
		filled = append(filled, replacer.Replace(word))
	}
	return filled
}

// python returns the command of most rows.
func python(script string, args ...string) []string {
	return append([]string{"python", "{scripts}/" + script}, args...)
}

// chosen returns the rows of a list of keys. A key also selects the rows below it:
// "torch" selects all of torch/....
func chosen(all []row, keys string, ci bool) []row {
	return slices.DeleteFunc(slices.Clone(all), func(r row) bool { return ci && !r.ci || !table.Asked(keys, r.key) })
}

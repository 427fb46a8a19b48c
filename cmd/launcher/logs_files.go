package main

import (
	"errors"
	"io/fs"
	"time"

	"github.com/musterhq/muster/agent/archive"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
)

// indexName is the name of the index in a directory of output.
const indexName = archive.IndexName

// fromFiles prints the lines of agent run --output=dir=PATH in dir, which --from names or which was fetched from
// there.
func (f *logsFlags) fromFiles(dir string, streams Streams, printer jobs.Printer, since time.Time, match func([]byte) bool) error {
	w := f.logs.Which
	x, err := archive.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return failure.New(1, "name the directory of agent run --output=dir=PATH", "--from=%s: no %s there", f.from, indexName)
	}
	if err != nil {
		return failure.New(1, "", "--from=%s: %w", f.from, err)
	}
	if f.logs.Job != "" && f.logs.Job != x.Job {
		return failure.Usage("omit the name, or choose another directory", "--from=%s has the output of job %q, not of %s", f.from, x.Job, f.logs.Job)
	}
	choice := archive.Choice{Rank: w.Rank, Since: since, Tail: f.logs.Tail, Match: match}
	if f.isAttempt {
		choice.Attempt = &f.attempt
	}
	if err := inIndex(x, choice, f.from); err != nil {
		return err
	}
	attempt := -1
	err = x.Lines(choice, func(l archive.Line) error {
		if l.Attempt != attempt && len(x.Attempts) > 1 && choice.Tail == 0 {
			sayer(streams.Err)("attempt %d:", l.Attempt)
		}
		attempt = l.Attempt
		line := jobs.Line{Pod: l.Label, Rank: l.Rank, At: l.At, Text: l.Text}
		if w.Rank != nil {
			line.Pod = ""
		}
		return printer.Line(line)
	})
	if streams.unprinted() != nil {
		return err
	}
	if err != nil {
		return failure.New(1, "", "--from=%s: %w", f.from, err)
	}
	return nil
}

// inIndex returns an error if the index has no such rank or attempt.
func inIndex(x *archive.Index, choice archive.Choice, from string) error {
	ranks, attempts, hasRank := 0, len(x.Attempts), false
	for _, a := range x.Attempts {
		for _, p := range a.Processes {
			ranks = max(ranks, p.Rank+1)
			hasRank = hasRank || choice.Rank != nil && p.Rank == *choice.Rank
		}
	}
	switch {
	case choice.Rank != nil && !hasRank:
		return failure.New(names.ExitUsage, "ranks count from 0", "--rank=%d: %s has files of %d ranks", *choice.Rank, from, ranks)
	case choice.Attempt != nil && (*choice.Attempt < 0 || !hasAttempt(x, *choice.Attempt)):
		return failure.New(names.ExitUsage, "attempts count from 0", "--attempt=%d: %s has %d attempts", *choice.Attempt, from, attempts)
	}
	return nil
}

func hasAttempt(x *archive.Index, number int) bool {
	for _, a := range x.Attempts {
		if a.Number == number {
			return true
		}
	}
	return false
}

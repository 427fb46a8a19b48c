package stacks

import (
	"bytes"
	"fmt"
	"strings"
)

// mostFlights limits how many dumps, and ranks without a dump, are listed one by one.
const mostFlights = 8

// Flights lists where ranks have dumped PyTorch's flight recorder, for ranks that have one.
func Flights(ranks []Rank) (lines []string) {
	dumped, failed := 0, 0
	for _, r := range ranks {
		f := r.Record.Flight
		switch {
		case f == nil:
		case f.Why == "":
			if dumped++; dumped <= mostFlights {
				lines = append(lines, fmt.Sprintf("flight recorder: %s on %s (%s)", visible(f.Path), r.Worker, size(f.Bytes)))
			}
		default:
			if failed++; failed <= mostFlights {
				lines = append(lines, fmt.Sprintf("no flight recorder of %s: %s", r.on(), visible(f.Why)))
			}
		}
	}
	for _, more := range []struct {
		n    int
		text string
	}{{dumped, "flight recorder: and %d more dumps"}, {failed, "no flight recorder: and of %d more ranks"}} {
		if more.n > mostFlights {
			lines = append(lines, fmt.Sprintf(more.text, more.n-mostFlights))
		}
	}
	return lines
}

// mostRAS limits the lines of NCCL's RAS service that are shown.
const mostRAS = 80

// RAS returns the report of NCCL's RAS service about the job, which was queried on a worker.
func RAS(text []byte, worker string) (lines []string) {
	for raw := range bytes.Lines(text) {
		line := strings.TrimRight(visible(string(bytes.TrimRight(raw, "\r\n"))), " ")
		switch {
		case line == "": // it separates its sections by empty lines
		case len(lines) > mostRAS:
			return append(lines, "  and more")
		case lines == nil:
			lines = append(lines, "NCCL's RAS service on "+worker+" says:", "  "+line)
		default:
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

// size returns text such as "12 kB".
func size(bytes int64) string {
	switch {
	case bytes >= 10e6:
		return fmt.Sprintf("%d MB", bytes/1e6)
	case bytes >= 1e3:
		return fmt.Sprintf("%d kB", bytes/1e3)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

package stacks

import (
	"bytes"
	"fmt"
	"strings"
)

// mostFlights bounds the dumps, and the ranks without one, that are said one by one.
const mostFlights = 8

// Flights says where ranks have dumped PyTorch's flight recorder, for those that keep one.
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

// mostRAS bounds the lines that are shown of NCCL's RAS service.
const mostRAS = 80

// RAS is what NCCL's RAS service says of the job, which it was asked for on a worker.
func RAS(text []byte, worker string) (lines []string) {
	for raw := range bytes.Lines(text) {
		line := strings.TrimRight(visible(string(bytes.TrimRight(raw, "\r\n"))), " ")
		switch {
		case line == "": // it parts its chapters by these
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

// size is "12 kB".
func size(bytes int64) string {
	switch {
	case bytes >= 10e6:
		return fmt.Sprintf("%d MB", bytes/1e6)
	case bytes >= 1e3:
		return fmt.Sprintf("%d kB", bytes/1e3)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

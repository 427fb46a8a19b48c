package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
)

// Fault is one --fake-fault, which rehearses a failure on one machine.
type Fault struct {
	Verb   string        // drop, stall, kill or join
	Worker int           // worker's index, from 0; -1: every worker
	Every  int64         // drop: repeatedly, after this many bytes in either direction
	After  time.Duration // when, counted from the start of the command
	For    time.Duration // stall: for how long
}

// maxFake keeps the addresses from 127.0.0.2 on within the last byte.
const maxFake = 253

// leastEvery is the smallest number of bytes between two drops. It lets HELLO, WELCOME and an OPEN
// with its environment through now and then. The part of a DATA frame that arrived is kept.
const leastEvery = 4 << 10

const faultForms = "drop every=256KiB [worker=N] | drop after=3s [worker=N] | stall after=2s for=10s [worker=N] | kill after=3s worker=N | join after=5s"

// ParseFaults parses every --fake-fault; n is the number of fake workers. Errors are
// *failure.Failure with code 64.
func ParseFaults(texts []string, n int) ([]Fault, error) {
	var faults []Fault
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			return nil, failure.Usage(faultForms, "--fake-fault %q: %w", text, err)
		}
		if f.Worker >= n {
			return nil, failure.Usage(fmt.Sprintf("workers are numbered 0 to %d", n-1), "--fake-fault %q: no worker %d", text, f.Worker)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

func parseFault(text string) (Fault, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Fault{}, fmt.Errorf("the fault is empty")
	}
	f := Fault{Verb: words[0], Worker: -1}
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		if !found {
			return Fault{}, fmt.Errorf("%q is not key=value", word)
		}
		if err := f.set(key, value); err != nil {
			return Fault{}, err
		}
	}
	return f, f.complete()
}

func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "worker":
		if f.Worker, err = strconv.Atoi(value); err != nil || f.Worker < 0 {
			return fmt.Errorf("worker=%s: want a number from 0", value)
		}
	case "every":
		f.Every, err = parseSize(value)
	case "after":
		f.After, err = parseTime(value)
	case "for":
		f.For, err = parseTime(value)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

func (f *Fault) complete() error {
	switch f.Verb {
	case "drop":
		if (f.Every > 0) == (f.After > 0) {
			return fmt.Errorf("drop: want either every=SIZE or after=TIME")
		}
		if f.Every > 0 && f.Every < leastEvery {
			return fmt.Errorf("every must be at least 4KiB, so that a handshake and the start of a session can succeed")
		}
	case "stall":
		if f.After <= 0 || f.For <= 0 {
			return fmt.Errorf("stall: want after=TIME and for=TIME")
		}
	case "kill":
		if f.After <= 0 || f.Worker < 0 {
			return fmt.Errorf("kill: want after=TIME and worker=N")
		}
	case "join":
		if f.After <= 0 || f.Worker >= 0 {
			return fmt.Errorf("join: want after=TIME, when one more worker starts")
		}
	default:
		return fmt.Errorf("unknown fault %q, want drop, stall, kill or join", f.Verb)
	}
	return nil
}

func parseTime(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time such as 3s", value)
	}
	return d, nil
}

// parseSize parses a number of bytes with the units of Kubernetes and of dd: 4096, 256KiB, 256Ki,
// 1MiB, 1MB.
func parseSize(value string) (int64, error) {
	m := regexp.MustCompile(`^([0-9]{1,12})(|B|K|KB|Ki|KiB|M|MB|Mi|MiB|G|GB|Gi|GiB)$`).FindStringSubmatch(value)
	if m == nil {
		return 0, fmt.Errorf("%q is not a size such as 256KiB", value)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	base := int64(1000)
	if strings.Contains(m[2], "i") {
		base = 1024
	}
	if m[2] != "" {
		for range strings.Index("BKMG", m[2][:1]) {
			n *= base
			if n > 1<<40 {
				return 0, fmt.Errorf("%q is too large", value)
			}
		}
	}
	if n <= 0 {
		return 0, fmt.Errorf("%q is not a size such as 256KiB", value)
	}
	return n, nil
}

// Hits reports whether the fault applies to the worker with this index.
func (f Fault) Hits(worker int) bool { return f.Worker < 0 || f.Worker == worker }

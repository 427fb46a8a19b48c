//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// line is the report of a rank (scripts/seen.py).
type line struct {
	Framework  string
	Rank       int
	World      int
	Sum        int
	Hosts      []string
	Name       string
	At         float64 // seconds since 1970
	Until      float64
	Bytes      int
	Losses     []float64
	Same       *bool  // all ranks have one model
	Model      string // hash
	Local      *int   // local rank
	LocalWorld int    `json:"local_world"`
	Devices    int
	Misled     []string
	Library    string
	Rows       int // rows that the model has seen
}

// said returns the reports of the ranks of a framework.
func said(out, framework string) (all []line) {
	for text := range strings.Lines(out) {
		start := strings.Index(text, `{"framework"`)
		if start < 0 {
			continue
		}
		var l line
		if json.NewDecoder(strings.NewReader(text[start:])).Decode(&l) == nil && l.Framework == framework {
			all = append(all, l)
		}
	}
	return all
}

var errSilent = errors.New("no rank reported")

func exitCode(r row, o outcome) (string, error) {
	if o.code != r.code {
		return "", fmt.Errorf("agent run ended with %d, not %d: %s", o.code, r.code, verdict(o.err))
	}
	if r.code != 0 {
		return fmt.Sprintf("exit code %d", r.code), nil
	}
	return "", nil
}

// verdict returns the last two lines of a log that agent run itself wrote, except lines that quote a rank.
func verdict(log string) string {
	var own []string
	for line := range strings.Lines(log) {
		if text, ok := strings.CutPrefix(line, "agent: "); ok && !strings.HasPrefix(text, " ") {
			own = append(own, strings.TrimSpace(text))
		}
	}
	return strings.Join(own[max(0, len(own)-2):], "; ")
}

func nothingLeft(_ row, o outcome) (string, error) {
	if len(o.left) > 0 {
		return "", fmt.Errorf("%d processes are left: %s", len(o.left), strings.Join(o.left, "; "))
	}
	return "", nil
}

// world checks that every rank of all workers reported once, and that each saw all others through a
// collective of its framework. No worker may have more than its share of ranks. A script
// that trains alone reports a world of 1, and fails here.
func world(name string, each int) want {
	return func(_ row, o outcome) (string, error) {
		lines := said(o.out, name)
		n := workers * each
		var ranks []int
		for _, l := range lines {
			ranks = append(ranks, l.Rank)
			if l.World != n || l.Sum != n*(n+1)/2 {
				return "", fmt.Errorf("rank %d saw a world of %d with the sum %d, not of %d with %d", l.Rank, l.World, l.Sum, n, n*(n+1)/2)
			}
			if !slices.Equal(l.Hosts, lines[0].Hosts) || len(l.Hosts) != n {
				return "", fmt.Errorf("rank %d saw the hosts %v, rank %d %v", l.Rank, l.Hosts, lines[0].Rank, lines[0].Hosts)
			}
		}
		slices.Sort(ranks)
		for i, rank := range ranks {
			if i != rank {
				return "", fmt.Errorf("ranks %v reported", ranks)
			}
		}
		if len(ranks) != n {
			return "", fmt.Errorf("%d of %d ranks reported", len(ranks), n)
		}
		share := map[string]int{}
		for _, host := range lines[0].Hosts {
			share[host]++
			if share[host] > each {
				return "", fmt.Errorf("more than %d ranks on %s: %v", each, host, lines[0].Hosts)
			}
		}
		return fmt.Sprintf("%d ranks on %d workers, sum %d", n, len(share), lines[0].Sum), nil
	}
}

// falls checks that each rank's loss fell to less than half.
func falls(name string) want {
	return func(_ row, o outcome) (string, error) {
		lines := said(o.out, name)
		if len(lines) == 0 {
			return "", errSilent
		}
		text := ""
		for _, l := range lines {
			if len(l.Losses) != 2 || !(l.Losses[1] < l.Losses[0]/2) {
				return "", fmt.Errorf("the loss of rank %d: %v", l.Rank, l.Losses)
			}
			text = fmt.Sprintf("loss %.3g to %.3g", l.Losses[0], l.Losses[1])
		}
		return text, nil
	}
}

// same checks that all ranks have the same model: each rank has compared the models, or all report the same hash.
func same(name string) want {
	return func(_ row, o outcome) (string, error) {
		lines := said(o.out, name)
		if len(lines) == 0 {
			return "", errSilent
		}
		for _, l := range lines {
			if (l.Same == nil || !*l.Same) && (l.Model == "" || l.Model != lines[0].Model) {
				return "", fmt.Errorf("rank %d has a model of its own", l.Rank)
			}
		}
		return "one model", nil
	}
}

// locals checks that the local ranks of each worker are 0 to each-1, and that the local world size is each.
func locals(name string, each int) want {
	return func(_ row, o outcome) (string, error) {
		count := make([]int, each)
		for _, l := range said(o.out, name) {
			if l.Local == nil || *l.Local < 0 || *l.Local >= each || l.LocalWorld != each {
				return "", fmt.Errorf("rank %d: local rank %v of %d", l.Rank, l.Local, l.LocalWorld)
			}
			count[*l.Local]++
		}
		for i, n := range count {
			if n != workers {
				return "", fmt.Errorf("local rank %d was reported %d times", i, n)
			}
		}
		return fmt.Sprintf("local ranks 0 to %d", each-1), nil
	}
}

// ends checks that the run ended soon after a rank had reported its death.
func ends(within time.Duration) want {
	return func(_ row, o outcome) (string, error) {
		deaths := said(o.out, "died")
		if len(deaths) != 1 {
			return "", fmt.Errorf("%d ranks died", len(deaths))
		}
		took := o.ended.Sub(time.UnixMicro(int64(deaths[0].At * 1e6)))
		if took > within {
			return "", fmt.Errorf("the run ended %.1f s after the death of rank %d", took.Seconds(), deaths[0].Rank)
		}
		return fmt.Sprintf("ended after %.1f s", took.Seconds()), nil
	}
}

// says checks that the launcher's stderr contains words.
func says(words string) want {
	return func(_ row, o outcome) (string, error) {
		if !strings.Contains(o.err, words) {
			return "", fmt.Errorf("stderr does not contain %q", words)
		}
		return "says: " + words, nil
	}
}

// allSaved checks that every rank had the time to save.
func allSaved(name string) want {
	return func(r row, o outcome) (string, error) {
		if n := len(said(o.out, name)); n != r.size() {
			return "", fmt.Errorf("%d of %d ranks saved", n, r.size())
		}
		return "all ranks saved", nil
	}
}

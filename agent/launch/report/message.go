package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/retry"
)

// mostWhy is the length in bytes of Why in a report that is shortened as far as possible.
const mostWhy = 500

// message is a report that is a termination message.
type message struct {
	Report
	Cut bool `json:"cut,omitempty"` // something is left out
}

// SaveMessage is Save for a path that is the termination message. Of a longer file the kubelet reads
// only the end, which would be no JSON. If something has to be left out, the object has "cut": true.
func (r Report) SaveMessage(path string) error {
	m := message{Report: r.listed()}
	text, err := json.Marshal(m)
	for _, most := range []int{256, 64, 16, 4, 1, 0} {
		if err != nil || len(text) <= maxLastWords {
			break
		}
		m = message{m.shortened(most), true}
		text, err = json.Marshal(m)
	}
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	return put(path, text)
}

// shortened returns r with at most that many entries in each list: the longest gaps, and otherwise the
// first entries. Without any entry, it also has a short Why.
func (r Report) shortened(most int) Report {
	gaps := slices.Sorted(slices.Values(r.GapsMS))
	slices.Reverse(gaps)
	r.GapsMS = first(gaps, most)
	r.Stalls, r.Lost, r.Attempts, r.Stopped = first(r.Stalls, most), first(r.Lost, most), first(r.Attempts, most), first(r.Stopped, most)
	r.Preflight, r.Spares = first(r.Preflight, most), first(r.Spares, most)
	r.Blames, r.Stragglers = first(r.Blames, most), first(r.Stragglers, most)
	if most == 0 {
		r.Why = retry.Clip(r.Why, mostWhy)
	}
	return r
}

func first[T any](list []T, most int) []T { return list[:min(len(list), most)] }

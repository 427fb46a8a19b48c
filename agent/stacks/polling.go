package stacks

import (
	"fmt"
	"slices"
	"strings"
)

// Place returns a text that stays equal while the first thread of the rank is in the same place.
func (r Rank) Place() string { return r.key() }

// Polling says where ranks poll in MPI: "all 4 ranks use a processor at solve.py:40 exchange (MPI
// Recv)". polls are the indices of those ranks.
func Polling(ranks []Rank, polls []int) string {
	places := map[string][]int{}
	for _, i := range polls {
		at := ranks[i].at() + " (MPI " + visible(ranks[i].Record.MPICall) + ")"
		places[at] = append(places[at], i)
	}
	who := fmt.Sprintf("all %d ranks", len(ranks))
	switch {
	case len(polls) == 2 && len(ranks) == 2:
		who = "both ranks"
	case len(polls) == 1:
		who = fmt.Sprintf("1 of %d ranks uses", len(ranks))
	case len(polls) < len(ranks):
		who = fmt.Sprintf("%d of %d ranks", len(polls), len(ranks))
	}
	if len(polls) > 1 {
		who += " use"
	}
	who += " a processor"
	var said []string
	for at, list := range places {
		if len(places) == 1 {
			return who + at
		}
		said = append(said, Names(pick(ranks, list))+at)
	}
	slices.Sort(said)
	if more := len(said) - mostNamed; more > 0 {
		said = append(said[:mostNamed], fmt.Sprintf("and in %d more places", more))
	}
	return who + " in MPI: " + strings.Join(said, ", ")
}

package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// mostLines is how many lines one batch of news has. Workers are rarely resized in more ways at once.
const mostLines = 3

// resizeGroup is news that several workers have in common.
type resizeGroup struct {
	first Resize
	count int
}

// resizeLines returns one line for each kind of news, the most frequent first.
func resizeLines(news []Resize) []string {
	var order []string
	groups := map[string]*resizeGroup{}
	for _, n := range news {
		key := n.kind()
		if groups[key] == nil {
			groups[key] = &resizeGroup{first: n}
			order = append(order, key)
		}
		groups[key].count++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(groups[b].count, groups[a].count) })
	var text []string
	rest := 0
	for i, key := range order {
		if i < mostLines {
			text = append(text, groups[key].sentence())
		} else {
			rest += groups[key].count
		}
	}
	if rest > 0 {
		text = append(text, fmt.Sprintf("%s resized in other ways (see the events of the run)", phrase.Count(rest, "worker")))
	}
	return text
}

// kind is equal for news that can share a line. The kubelet's messages have numbers of each node.
func (n Resize) kind() string {
	if n.Text == "" {
		return n.Refused.Reason
	}
	return fmt.Sprint(n.Text, n.keeps)
}

// sentence returns the line of a group. It names one worker.
func (g *resizeGroup) sentence() string {
	n, who := g.first, g.first.Worker
	if g.count > 1 {
		who += " and " + phrase.Count(g.count-1, "more worker")
	}
	switch {
	case n.Text == "" && n.Refused.Permanent():
		return fmt.Sprintf("cannot resize %s in place (%s): %s", who, n.Refused.Reason, n.Refused.Message)
	case n.Text == "" && n.Refused.Brief():
		return fmt.Sprintf("the resize of %s has waited for %s (%s): %s", who, phrase.Brief(deferred), n.Refused.Reason, n.Refused.Message)
	case n.Text == "":
		return fmt.Sprintf("the resize of %s fails (%s): %s", who, n.Refused.Reason, n.Refused.Message)
	case n.keeps:
		return fmt.Sprintf("%s: %s (resized in place)%s", who, n.Text, keeping)
	}
	return fmt.Sprintf("%s: %s (resized in place)", who, n.Text)
}

package usage

import (
	"fmt"

	"github.com/musterhq/muster/agent/straggler"
)

// Unknown is a cell whose value is unknown.
const Unknown = "<unknown>"

// Head returns the head of the table.
func Head() []string {
	return []string{"WORKER", "NODE", "RANKS", "CPU", "MEMORY", "GPU", "STEP", "STRAGGLER"}
}

// Rows returns the rows of the table, at most this number.
func Rows(all []Worker, most int) (rows [][]string) {
	for _, w := range all[:min(len(all), most)] {
		numbers := make([]int, len(w.Ranks))
		for i, r := range w.Ranks {
			numbers[i] = r.Rank
		}
		step, slow := Unknown, "<none>"
		if s := w.Step(); s > 0 {
			step = straggler.Seconds(s)
		}
		if list := w.Stragglers(); len(list) > 0 {
			slow = straggler.Ranks(list)
		}
		rows = append(rows, []string{w.Worker, or(w.Node, "<none>"), or(straggler.Ranks(numbers), Unknown),
			cell(w.CPU, 1, "m"), cell(w.Memory, 1<<20, "Mi"), cell(w.GPU, 1, "%"), step, slow})
	}
	return rows
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func cell(value *int64, unit int64, suffix string) string {
	if value == nil {
		return Unknown
	}
	return fmt.Sprintf("%d%s", *value/unit, suffix)
}

// Sentences returns what to say below the table: the stragglers by worker, the slowest first, and
// how many workers the table does not show. all must be sorted.
func Sentences(all []Worker, most int) (lines []string) {
	var changes []straggler.Change
	places := map[int]straggler.Place{}
	for _, w := range all {
		for _, r := range w.Ranks {
			places[r.Rank] = straggler.Place{Worker: w.Worker, Node: w.Node}
			if r.Straggler && r.Median > 0 {
				changes = append(changes, straggler.Change{Rank: r.Rank, Time: r.Step, Median: r.Median, Ranks: r.Ranks})
			}
		}
	}
	if n := len(all) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d workers are shown, the slowest first; -o json has all", most, len(all)))
	}
	found := straggler.Group(changes, func(rank int) straggler.Place { return places[rank] })
	for i, f := range found {
		if i == most {
			lines = append(lines, fmt.Sprintf("stragglers on %d more workers", len(found)-most))
			break
		}
		lines = append(lines, f.Sentence())
	}
	return lines
}

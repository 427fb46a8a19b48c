package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

var pairTable = []Check{
	{"connect", OfPair, "Every pair of workers connects on the job's network interface. Beyond 16 workers, every pair of nodes and a sample of workers; beyond 64 nodes, the sample.", "two workers that listen", "allow all ports between the job's pods (NetworkPolicy, firewall), or replace the worker"},
	{"round-trip", OfPair, "No worker's round trips are much longer than those of the others.", "four workers", "look at the network of this node, or replace the worker"},
	{"throughput", OfPair, "No worker's short transfers are much slower than those of the others.", "four workers in pods of their own", "look at the network of this node, or replace the worker"},
}

// Pair is what one worker found out about its network to another one.
type Pair struct {
	From, To string
	Error    string // why To cannot be reached; "" if it can
	// RoundTrip is the shortest of some round trips. Rate is bytes in a second; 0: not measured.
	RoundTrip time.Duration
	Rate      float64
}

// micros formats a time in microseconds.
func micros(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f ms", us/1000)
}

func rate(perSecond float64) string { return bytes(int64(perSecond)) + "/s" }

// OfPairs judges the network. nodes has the node of each worker.
func OfPairs(pairs []Pair, nodes map[string]string) []Finding {
	if len(pairs) == 0 {
		return nil
	}
	found := connects(pairs, nodes)
	trips, sends, receives := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, p := range pairs {
		if p.Error != "" {
			continue
		}
		for _, w := range []string{p.From, p.To} {
			if us := float64(p.RoundTrip.Nanoseconds()) / 1000; us > 0 && (trips[w] == 0 || us < trips[w]) {
				trips[w] = us
			}
		}
		if p.Rate > 0 {
			sends[p.From], receives[p.To] = max(sends[p.From], p.Rate), max(receives[p.To], p.Rate)
		}
	}
	found = append(found, judged("round-trip", len(trips), outliers("round-trip", trips, nodes, isLong, func(us, usual float64) string {
		return fmt.Sprintf("its round trips take %s at least, those of the others about %s", micros(us), micros(usual))
	}))...)
	slow := func(way string, rates map[string]float64) []Finding {
		return outliers("throughput", rates, nodes, isSlow, func(value, usual float64) string {
			return fmt.Sprintf("it %s %s at most, the others about %s", way, rate(value), rate(usual))
		})
	}
	return append(found, judged("throughput", len(sends), append(slow("sends", sends), slow("receives", receives)...))...)
}

// connects names the workers that cannot be reached. A worker that fails in most of its pairs is
// named once. Other pairs that fail are named one by one.
func connects(pairs []Pair, nodes map[string]string) []Finding {
	tried, failed := map[string]int{}, map[string]int{}
	var bad []Pair
	of := map[string][]Pair{} // those of bad, by worker
	for _, p := range pairs {
		tried[p.From]++
		tried[p.To]++
		if p.Error != "" {
			failed[p.From]++
			failed[p.To]++
			bad = append(bad, p)
			of[p.From], of[p.To] = append(of[p.From], p), append(of[p.To], p)
		}
	}
	if len(bad) == 0 {
		return []Finding{{Check: "connect", Verdict: OK, Found: fmt.Sprintf("%d of %d pairs of workers connect", len(pairs), len(pairs))}}
	}
	var found []Finding
	blamed := map[string]bool{}
	workers := slices.SortedFunc(maps.Keys(failed), func(a, b string) int { return cmp.Or(cmp.Compare(failed[b], failed[a]), cmp.Compare(a, b)) })
	for _, w := range workers {
		left, why := 0, ""
		for _, p := range of[w] {
			if !blamed[p.From] && !blamed[p.To] {
				left, why = left+1, p.Error
			}
		}
		if left > 1 && 2*left > tried[w] {
			blamed[w] = true
			found = append(found, Finding{Check: "connect", Of: w, Node: nodes[w], Worker: w, Verdict: Fail, Remedy: remedy("connect"),
				Found: fmt.Sprintf("%d of its %d connections with other workers failed: %s", failed[w], tried[w], why)})
		}
	}
	for _, p := range bad {
		if !blamed[p.From] && !blamed[p.To] {
			found = append(found, Finding{Check: "connect", Of: p.From + " to " + p.To, Node: nodes[p.To], Verdict: Fail, Remedy: remedy("connect"), Found: "no connection: " + p.Error})
		}
	}
	return found
}

// leastWorkers is from how many workers on one can differ from the others.
const leastWorkers = 4

// far is how many robust standard deviations an outlier is away from the median, as Iglewicz and
// Hoaglin recommend.
const far = 3.5

// outliers names workers whose best value is far from the median of all, in units of the median
// absolute deviation (Iglewicz and Hoaglin, 1993). Unlike the mean, the median does not move with an
// outlier. Logarithms are compared, because rates and times differ by factors. The best value of a
// worker says what it can do: noise and the peer only make values worse.
func outliers(name string, best map[string]float64, nodes map[string]string, matters func(value, usual float64) bool, text func(value, usual float64) string) []Finding {
	if len(best) < leastWorkers {
		return nil
	}
	all := slices.Collect(maps.Values(best))
	usual := median(all)
	var deviations []float64
	for _, v := range all {
		deviations = append(deviations, times(v, usual))
	}
	spread := 1.4826 * median(deviations) // a standard deviation, if the values are normal
	var found []Finding
	for _, w := range slices.Sorted(maps.Keys(best)) {
		if v := best[w]; times(v, usual) > far*spread && matters(v, usual) {
			found = append(found, Finding{Check: name, Of: w, Node: nodes[w], Worker: w, Verdict: Warn, Remedy: remedy(name), Found: text(v, usual)})
		}
	}
	return found
}

// judged adds the finding that all is well if there were enough workers and none was named.
func judged(name string, workers int, found []Finding) []Finding {
	if len(found) == 0 && workers >= leastWorkers {
		return []Finding{{Check: name, Verdict: OK, Found: "no worker differs much from the others"}}
	}
	return found
}

// Outliers returns the workers that findings name because they differ from the others, each once. A
// busy processor may have caused that, so measure these workers again, and judge all pairs together:
// the best value of a worker counts.
func Outliers(found []Finding) (workers []string) {
	for _, f := range found {
		if f.Verdict == Warn && (f.Check == "round-trip" || f.Check == "throughput") && !slices.Contains(workers, f.Worker) {
			workers = append(workers, f.Worker)
		}
	}
	return workers
}

// isLong reports whether a round trip, in microseconds, is long enough to matter.
func isLong(value, usual float64) bool { return value > 3*usual && value > usual+500 }

// isSlow reports whether a rate is low enough to matter.
func isSlow(value, usual float64) bool { return value < usual/3 }

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// times returns by how much two values differ, as the logarithm of a factor.
func times(a, b float64) float64 { return math.Abs(math.Log(a / b)) }

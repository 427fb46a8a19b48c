package framework

import (
	"strconv"
	"strings"
)

// Place is where a worker computes.
type Place struct {
	Node   string // the machine's name; "" when not known
	CPUSet string // the CPUs it may use, as in Cpus_allowed_list: "0-3,8"
	// Online is the machine's online CPUs in the same form, "" when not known.
	// A worker that may use all of them shares them with whatever else the
	// scheduler puts there, another job's workers too.
	Online string
}

// SharedCores says whether two workers, or a worker and a stranger, may compute
// on one core, so that core binding has to be off: each MPI daemon binds its
// first rank to the first core it sees. Without a static CPU manager every pod
// sees all CPUs of its node. What is not known counts as shared: binding that is
// missing costs a little, two ranks on one core cost everything.
func SharedCores(places []Place) bool {
	for i, p := range places {
		mine, known := parseCPUs(p.CPUSet)
		if online, ok := parseCPUs(p.Online); known && ok && covers(mine, online) {
			return true
		}
		for _, q := range places[:i] {
			if p.Node != q.Node && p.Node != "" && q.Node != "" {
				continue
			}
			theirs, ok := parseCPUs(q.CPUSet)
			if !known || !ok || overlap(mine, theirs) {
				return true
			}
		}
	}
	return false
}

// cpuRange is inclusive at both ends.
type cpuRange struct{ first, last int }

// parseCPUs reads the kernel's list format (Documentation/admin-guide/
// kernel-parameters.rst, "cpu lists"), without its stride form; not ok when it
// is empty or something else.
func parseCPUs(list string) (ranges []cpuRange, ok bool) {
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil || last < first {
			return nil, false
		}
		ranges = append(ranges, cpuRange{int(first), int(last)})
	}
	return ranges, true
}

func overlap(a, b []cpuRange) bool {
	for _, x := range a {
		for _, y := range b {
			if x.first <= y.last && y.first <= x.last {
				return true
			}
		}
	}
	return false
}

// covers says whether every CPU of b is in a. The kernel writes lists in order
// and merges neighbours, so each range of b lies within one of a.
func covers(a, b []cpuRange) bool {
	for _, y := range b {
		within := false
		for _, x := range a {
			within = within || (x.first <= y.first && y.last <= x.last)
		}
		if !within {
			return false
		}
	}
	return true
}

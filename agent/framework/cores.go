package framework

import (
	"strconv"
	"strings"
)

// Place is the machine of a worker, and the CPUs that the worker may use there.
type Place struct {
	Node   string // name of the machine; "" if not known
	CPUSet string // the CPUs it may use, as in Cpus_allowed_list: "0-3,8"
}

// SharedCores reports whether two workers, or a worker and a foreign process, may compute on one
// core. Core binding must then be off, because each MPI daemon binds its first rank to the first
// core that it sees. Without the static CPU manager policy every pod sees all CPUs of its node.
// Unknown counts as shared: missing binding costs little, but two ranks on one core ruin the run.
func SharedCores(places []Place) bool {
	for i, p := range places {
		mine, known := parseCPUs(p.CPUSet)
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

// cpuRange is a range of CPU numbers; both ends are included.
type cpuRange struct{ first, last int }

// parseCPUs reads the kernel's list format (Documentation/admin-guide/kernel-parameters.rst, "cpu
// lists") without its stride form. It returns false if the list is empty or malformed.
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

package history

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Ranks returns which of n ranks a list such as 0-2,7 has.
func Ranks(list string, n int) []bool {
	has := make([]bool, n)
	for part := range strings.SplitSeq(list, ",") {
		first, last, _ := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to, bad := strconv.Atoi(cmp.Or(last, first))
		for i := max(from, 0); err == nil && bad == nil && i <= min(to, n-1); i++ {
			has[i] = true
		}
	}
	return has
}

// List returns the list of ranks that Ranks reads.
func List(has []bool) string {
	var parts []string
	for i := 0; i < len(has); i++ {
		first := i
		for i < len(has) && has[i] {
			i++
		}
		switch i - first {
		case 0:
		case 1:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, i-1))
		}
	}
	return strings.Join(parts, ",")
}

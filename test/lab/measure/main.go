//go:build linux

package measure

import (
	"fmt"
	"strconv"
	"strings"
)

// Sizes is a flag: numbers separated by commas.
type Sizes []int

// String is what Set takes.
func (s *Sizes) String() string {
	var all []string
	for _, n := range *s {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (s *Sizes) Set(text string) error {
	*s = nil
	for one := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of workers", one)
		}
		*s = append(*s, n)
	}
	return nil
}

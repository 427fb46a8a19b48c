//go:build linux

package measure

import (
	"fmt"
	"strconv"
	"strings"
)

// Sizes is the value of a flag: numbers of workers, separated by commas.
type Sizes []int

// String implements flag.Value.
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
			return fmt.Errorf("%q is not a number of workers", one)
		}
		*s = append(*s, n)
	}
	return nil
}

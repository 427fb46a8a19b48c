//go:build linux

package measure

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Main runs a program until it has ended or is interrupted. It ends with 1 when there was an error.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+": "+err.Error())
		os.Exit(1)
	}
}

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

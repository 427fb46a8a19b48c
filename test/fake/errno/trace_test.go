//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaitsForRoom(t *testing.T) {
	const (
		fault    = `7 write(6, "\1\0\0\0\0\0\0\0", 8) = -1 EAGAIN (Resource temporarily unavailable) (INJECTED)` + "\n"
		again    = `8 write(6, "\1\0\0\0\0\0\0\0", 8) = 8` + "\n"
		other    = `8 write(9, "a", 1) = 1` + "\n"
		began    = `7 write(6, "a", 1 <unfinished ...>` + "\n"
		finished = `7 <... write resumed>) = -1 EAGAIN (Resource temporarily unavailable) (INJECTED)` + "\n"
		full     = `7 write(6, "a", 1) = -1 EAGAIN (Resource temporarily unavailable)` + "\n"
		broken   = `7 write(6, "a", 1) = -1 EIO (Input/output error) (INJECTED)` + "\n"
	)
	for name, tc := range map[string]struct {
		trace string
		want  bool
	}{
		"nothing traced":       {"", false},
		"never tried again":    {other + fault + other, true},
		"tried again":          {fault + again, false},
		"tried again, in vain": {fault + again + fault, true},
		"seen in two lines":    {began + other + finished, true},
		"in two lines, again":  {began + finished + again, false},
		"really full":          {full, false},
		"another errno":        {broken, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, waitsForRoom([]byte(tc.trace))) })
	}
}

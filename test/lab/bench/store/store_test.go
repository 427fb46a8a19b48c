//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLasts(t *testing.T) {
	whole := "0: step begun 0\n1: step begun 1\n0: step imported 0\n0: step joined 0\n1: step imported 1\n1: step joined 1\n1: step reduced 1 3\n0: step reduced 0 3\n"
	for name, c := range map[string]struct{ out, err string }{
		"whole":               {whole, ""},
		"a rank that is gone": {strings.Replace(whole, "0: step reduced 0 3\n", "", 1), "1 of 2 ranks have reduced"},
		"a wrong sum":         {strings.Replace(whole, "0 3", "0 1", 1), `unexpected line "0: step reduced 0 1"`},
		"another line":        {whole + "Traceback\n", `unexpected line "Traceback"`},
	} {
		t.Run(name, func(t *testing.T) {
			lines := time.Duration(0)
			took, err := lasts(strings.NewReader(c.out), 2, func() time.Duration { lines++; return lines })
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []time.Duration{2, 5, 6, 8}, took)
		})
	}
}

package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestZeroOfALauncher checks that a process that exited with 0 counts as failed if a rank that it
// started failed.
func TestZeroOfALauncher(t *testing.T) {
	for name, tc := range map[string]struct {
		exit     wire.ExitRecord
		bad      bool
		code     int
		sentence string
	}{
		"a rank exited": {wire.ExitRecord{Failed: &wire.RankRecord{Rank: "3", Command: "python3 (pid 12)", Code: 4}}, true, 4,
			"rank 0 on w-0 exited with 0, but python3 (pid 12), which it started as rank 3, exited with 4"},
		"a rank was killed": {wire.ExitRecord{Failed: &wire.RankRecord{Rank: "3", Command: "python3 (pid 12)", Code: 139, Signal: 11}}, true, 139,
			"rank 0 on w-0 exited with 0, but python3 (pid 12), which it started as rank 3, was killed by SIGSEGV"},
		"its own failure takes precedence": {wire.ExitRecord{Code: 7}, true, 7, "rank 0 on w-0 exited with 7"},
		"no rank failed":                   {wire.ExitRecord{}, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := Failure{End: End{Exit: tc.exit}, Label: "rank 0", Worker: "w-0"}
			require.Equal(t, tc.bad, f.bad())
			if tc.bad {
				require.Equal(t, tc.code, f.Code())
				require.Equal(t, tc.sentence, f.Sentence())
			}
		})
	}
}

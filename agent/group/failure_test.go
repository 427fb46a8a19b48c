package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
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

// TestCauseIfOneSuccessIsEnough checks that a failure which the other processes outlived is not the
// cause, and that a server which fails is one.
func TestCauseIfOneSuccessIsEnough(t *testing.T) {
	for name, tc := range map[string]struct {
		parts []framework.Part
		acts  []act
		cause string
		other int
	}{
		"the others wait for the first one in vain": {acts: []act{{after: 11 * time.Minute, code: 5}, {after: time.Minute, code: 2}, {after: 21 * time.Minute, code: 6}},
			cause: "rank 1 on w-1 exited with 2", other: 2},
		"the others continue without the first one": {acts: []act{{after: time.Hour, code: 5}, {after: time.Second, lost: errGone}, {after: time.Hour + 2*time.Second, code: 6}},
			cause: "rank 0 on w-0 exited with 5", other: 2},
		"a server fails after a worker": {parts: []framework.Part{works, serves, works}, acts: []act{{after: time.Second, code: 1}, {after: 3 * time.Second, code: 9}, {}},
			cause: "rank 1 on w-1 exited with 9", other: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := cast(tc.parts, tc.acts...)
				cfg.Any = true
				result := New(cfg).Run(t.Context())
				require.Equal(t, tc.cause, result.Cause.Sentence())
				require.Equal(t, result.Cause.Code(), result.Code)
				require.Equal(t, tc.other, result.Others)
			})
		})
	}
}

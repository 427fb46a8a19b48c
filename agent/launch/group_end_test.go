package launch

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

func TestJudgeGroup(t *testing.T) {
	failed := group.Result{Code: 3, Cause: &group.Failure{Label: "rank 1", Worker: "w-1", End: group.End{Exit: wire.ExitRecord{Code: 3}}}}
	several := failed
	several.Others = 2
	lost := &link.LostError{Worker: "w-1", Kind: link.Gone, Err: errors.New("gone")}
	away := group.Result{Code: 76, Cause: &group.Failure{Label: "rank 1", Worker: "w-1", End: group.End{Err: lost}}}
	leaves := group.Result{Code: 76, Stopped: true, Cause: &group.Failure{Label: "rank 1", Worker: "w-1", End: group.End{Exit: wire.ExitRecord{Reason: wire.ReasonPreempted}}}}
	gone := []verdict.Lost{{Worker: "w-1", Cause: "its node is lost"}}
	for name, tc := range map[string]struct {
		told   int
		result group.Result
		lost   []verdict.Lost
		want   verdict.Verdict
	}{
		"success":                       {want: verdict.Verdict{}},
		"told to stop":                  {told: 15, result: group.Result{Stopped: true}, want: verdict.Verdict{Code: 143, Why: "told to stop by SIGTERM"}},
		"told to stop during a failure": {told: 2, result: failed, want: verdict.Verdict{Code: 130, Why: "told to stop by SIGINT"}},
		"failed":                        {result: failed, want: verdict.Verdict{Code: 3, Why: "rank 1 on w-1 exited with 3"}},
		"several":                       {result: several, want: verdict.Verdict{Code: 3, Why: "rank 1 on w-1 exited with 3 (and 2 more failed)"}},
		"a worker lost":                 {result: away, lost: gone, want: verdict.Verdict{Code: 76, Why: "worker w-1 lost: its node is lost"}},
		"peers noticed first":           {result: failed, lost: gone, want: verdict.Verdict{Code: 76, Why: "worker w-1 lost: its node is lost; rank 1 on w-1 exited with 3"}},
		"two lost":                      {result: away, lost: append(gone, verdict.Lost{Worker: "w-2", Cause: "x"}), want: verdict.Verdict{Code: 76, Why: "worker w-1 lost: its node is lost (and 1 more worker)"}},
		"a worker lost, but success":    {lost: gone, want: verdict.Verdict{}},
		"a worker drained":              {result: leaves, lost: gone, want: verdict.Verdict{Code: 76, Why: "worker w-1 was told to stop from outside"}},
		"stopped, and a worker lost":    {result: group.Result{Stopped: true}, lost: gone, want: verdict.Verdict{Code: 76, Why: "worker w-1 lost: its node is lost"}},
		"stopped without a reason":      {result: group.Result{Stopped: true}, want: verdict.Verdict{Code: 70, Why: "the group was stopped for an unknown reason"}},
	} {
		require.Equal(t, tc.want, verdict.JudgeGroup(tc.told, groupEnd(tc.result), tc.lost), name)
	}
}

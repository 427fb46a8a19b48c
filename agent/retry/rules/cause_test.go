package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

func TestCauseOf(t *testing.T) {
	for want, e := range map[string]retry.End{
		"success":   {},
		"failed":    {Code: 1},
		"workers":   {Code: 143, Asked: true, Lost: true},
		"drain":     {Code: 143, Preempted: true, Lost: true},
		"preflight": {Code: 76, Detail: retry.Detail{Preflight: true}},
		"device":    {Code: 1, Lost: true, Detail: retry.Detail{Device: true}},
		"oom":       {Code: 137, OOM: true, Lost: true},
		"lost":      {Code: 76, Lost: true, Infra: true},
		"infra":     {Code: 76, Infra: true},
		"stall":     {Code: names.ExitHung, Stalled: true},
		"hang":      {Code: names.ExitHung},
	} {
		require.Equal(t, want, CauseOf(e, false))
		require.Contains(t, Ends(), want)
	}
	require.Equal(t, "stopped", CauseOf(retry.End{Code: 143, Lost: true}, true))
	require.ElementsMatch(t, Causes(), byWeight, "a cause is missing in the order")
}

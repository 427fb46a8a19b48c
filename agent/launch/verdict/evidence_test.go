package verdict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func TestBadSession(t *testing.T) {
	for _, tc := range []struct {
		exit wire.ExitRecord
		what string // "" means success
	}{
		{wire.ExitRecord{}, ""},
		{wire.ExitRecord{Detached: true}, ""},
		{wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, ""},
		{wire.ExitRecord{Code: 7}, "exited with 7"},
		{wire.ExitRecord{Code: 137, Signal: 9}, "was killed by SIGKILL"},
		{wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonPreempted}, "was ended: preempted"},
		{wire.ExitRecord{Code: 127, Error: "x: not found"}, "could not be started: x: not found"},
	} {
		b, ok := JudgeSession("w", tc.exit.Code, tc.exit.Signal, tc.exit.Reason, tc.exit.Error)
		require.Equal(t, tc.what == "", ok, tc.exit)
		require.Equal(t, tc.what, b.What)
	}
}

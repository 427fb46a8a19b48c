package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
)

func TestValidateHang(t *testing.T) {
	for want, c := range map[string]Config{
		"--hang-after=-1s must not be negative":               {Limits: Limits{HangAfter: -time.Second}},
		"--hang-after=10ms: the shortest is 1s":               {Limits: Limits{HangAfter: 10 * time.Millisecond}},
		"--hang-action=kill: unknown value":                   {Limits: Limits{HangAfter: time.Minute, HangAction: "kill"}},
		"needs --hang-after: the default of 30m only reports": {Limits: Limits{HangAfter: 30 * time.Minute, HangAction: HangStop}, Origin: map[string]string{"hang-after": "default", "hang-action": "flag --hang-action"}},
		"turns off hang detection":                            {Limits: Limits{HangAction: HangStop}, Origin: map[string]string{"hang-action": "flag --hang-action"}},
	} {
		err := c.validateHang()
		require.ErrorContains(t, err, want)
		require.Equal(t, 64, failure.CodeOf(err))
	}
	require.NoError(t, Config{}.validateHang())
	require.NoError(t, Config{Limits: Limits{HangAfter: time.Minute, HangAction: HangStop}, Origin: map[string]string{"hang-after": "flag --hang-after", "hang-action": "flag --hang-action"}}.validateHang())
}

func TestOnlyAnExplicitHangStops(t *testing.T) {
	c := Defaults()
	c.HangAction = HangStop
	require.Equal(t, 30*time.Minute, c.HangAfter)
	require.False(t, c.HangStops(), "MUSTER_HANG_ACTION alone must not stop a run")
	c.Origin = map[string]string{"hang-after": "env MUSTER_HANG_AFTER"}
	require.True(t, c.HangStops())
}

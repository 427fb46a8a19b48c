package names

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGraceLeavesTimeToEnd(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{0: 0, time.Second: 800 * time.Millisecond, 10 * time.Second: 8 * time.Second,
		30 * time.Second: DefaultGrace, 90 * time.Second: 85 * time.Second, time.Hour: time.Hour - 5*time.Second} {
		require.Equal(t, want, Grace(period), period)
		require.Equal(t, period, Period(want))
	}
}

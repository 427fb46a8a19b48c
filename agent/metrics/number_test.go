package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	for in, want := range map[string]float64{
		"0": 0, "1": 1, "-1": -1, "+2.5": 2.5, "215.32": 215.32, ".5": 0.5, "-.5": -0.5, "5.": 5, "0.000": 0,
		"1e-5": 1e-5, "1E+05": 1e5, "-3.2e-07": -3.2e-7, "5.e-01": 0.5, "007": 7,
		"93.5%": 93.5, "0.5 %": 0.5, "0.35s": 0.35, "5ms": 5, "3.5GiB/s": 3.5, "2µs": 2, "12ab": 12,
		"0.5.": 0.5, "0.5, acc=1": 0.5, "0.5,acc=1": 0.5, "0.5)": 0.5, "0.5]": 0.5, "1; 2": 1, "3/10": 3,
		"215.3 +/- 0.0": 215.3, "215.3+/-0.0": 215.3, "0.5|": 0.5, "5..": 5, "5.abc": 5,
		"inf": math.Inf(1), "-inf": math.Inf(-1), "Infinity": math.Inf(1), "+Inf,": math.Inf(1),
		"nan": math.NaN(), "NaN": math.NaN(), "-nan": math.NaN(), "nan.": math.NaN(), "nan(ind)": math.NaN(),
	} {
		got, length, ok := number([]byte(in))
		require.True(t, ok, in)
		require.Positive(t, length, in)
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(got), in)
			continue
		}
		require.Equal(t, want, got, in)
	}
}

func TestNoNumber(t *testing.T) {
	for _, in := range []string{
		"", "-", "+", ".", "-.", "e5", ".e5", "x1", "--1", "+-1", "= 1", " 1",
		"1,234", "1,234.5", "0,5", "1_000", "1'000", "10.0.0.1", "1.2.3", "12:30", "2024-01-01", "1-2", "1+2j",
		"0x1f", "0b10", "1e", "1e-", "1e+", "12ab34", "12ab-34", "1m30s", "1e5e5", "1e999", "-1e999",
		"info", "infx", "nano", "nan_1", "inf1", "none", "None", "tensor(1)", "[1]", "١", "1١", "0.5_a",
	} {
		_, _, ok := number([]byte(in))
		require.False(t, ok, in)
	}
}

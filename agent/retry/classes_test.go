package retry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	code := func(n int) End { return End{Code: n} }
	killed, lost, infra := code(137), End{Code: 76, Lost: true}, End{Code: 76, Infra: true}
	stalled := End{Code: 79, Stalled: true}
	starved := End{Code: 137, OOM: true}
	gone := End{Code: 76, Lost: true, OOM: true}
	for _, row := range []struct {
		list    string
		yes, no []End
	}{
		{Default, []End{killed, code(130), code(143), lost, infra}, []End{code(1), code(2), code(75), code(76), code(134), code(139), code(255), starved, gone}},
		{"1", []End{code(1)}, []End{killed, lost, infra, starved}},
		{" 1 , lost ", []End{code(1), lost}, []End{killed, gone}},
		{"oom", []End{starved, gone}, []End{killed, lost}},
		{"+1,-143,+oom", []End{code(1), killed, lost, infra, starved}, []End{code(143), code(134)}},
		{"-lost", []End{killed, infra}, []End{lost}},
		{"hang", []End{code(79)}, []End{code(75), lost, stalled}},
		{"stall", []End{stalled}, []End{code(79), lost}},
		{"79", []End{stalled, code(79)}, []End{lost}},
		{"+any,-stall", []End{code(79), lost}, []End{stalled}},
		{"any", []End{code(1), code(255), killed, stalled}, []End{lost, infra, starved, code(0), code(256), code(-1)}},
		{"+any,-139", []End{code(1), lost}, []End{code(139)}},
	} {
		classes, err := Parse(row.list)
		require.NoError(t, err, row.list)
		for _, e := range row.yes {
			yes, _ := classes.retries(e)
			require.True(t, yes, "%s: %+v", row.list, e)
		}
		for _, e := range row.no {
			yes, _ := classes.retries(e)
			require.False(t, yes, "%s: %+v", row.list, e)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for list, want := range map[string]string{
		"":            "empty entry",
		"137,":        "empty entry",
		"+":           "empty entry",
		"0":           "exit code 0 is not a failure",
		"256":         "256 is not an exit code of a failure: want 1 to 255",
		"137,sigkill": `"sigkill" is not an exit code or one of lost, infra, oom, hang, stall, any`,
		"1.5":         `"1.5" is not an exit code`,
		"137,-1":      `"137" has no + or -`,
		"+-1":         "-1 is not an exit code",
		"OOM":         `"OOM" is not an exit code`,
	} {
		_, err := Parse(list)
		require.ErrorContains(t, err, want, list)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Default)
	f.Add("+1,-143,any,oom")
	f.Fuzz(func(t *testing.T, list string) {
		c, err := Parse(list)
		if err != nil {
			require.Equal(t, Classes{}, c)
			require.NotEmpty(t, err.Error())
			return
		}
		yes, _ := c.retries(End{})
		require.False(t, yes, "exit code 0 is not a failure")
	})
}

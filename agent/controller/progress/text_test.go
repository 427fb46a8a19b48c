package progress

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestText checks the line that kubectl get shows for a report.
func TestText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ report, want, last string }{
		{`{}`, "", ""},
		{`{"progressPercentage": 24}`, "24%", "24%"},
		{`{"progressPercentage": 24.9, "estimatedRemainingSeconds": 10800}`, "24%, ETA 3h", "24%"},
		{`{"estimatedRemainingSeconds": 60}`, "", ""},
		{`{"progressPercentage": 24, "estimatedRemainingSeconds": 11100, "metrics": [{"name":"loss","value":"0.3"},{"name":"current_step","value":"1200"},{"name":"total_steps","value":"5000"}]}`,
			"step 1,200/5,000, ETA 3h5m", "step 1,200/5,000"},
		{`{"metrics": [{"name":"current_step","value":"1200300.0"}]}`, "step 1,200,300", "step 1,200,300"},
		{`{"progressPercentage": 3, "metrics": [{"name":"current_step","value":"many"}]}`, "3%", "3%"},
		{`{"progressPercentage": 100, "estimatedRemainingSeconds": 0}`, "100%", "100%"},
		{`{"progressPercentage": 1, "estimatedRemainingSeconds": 59}`, "1%, ETA 59s", "1%"},
		{`{"progressPercentage": 1, "estimatedRemainingSeconds": 90}`, "1%, ETA 1m30s", "1%"},
		{`{"progressPercentage": 1, "estimatedRemainingSeconds": 1234567}`, "1%, ETA 14d", "1%"},
		{`{"progressPercentage": 1, "estimatedRemainingSeconds": 93600}`, "1%, ETA 1d2h", "1%"},
	} {
		r, err := read([]byte(`{"trainerStatus":`+c.report+`}`), now)
		require.NoError(t, err, c.report)
		require.Equal(t, c.want, Text(r), c.report)
		require.Equal(t, c.last, Last(r), c.report)
	}
	require.Empty(t, Text(nil))
	require.Empty(t, Last(nil))
}

// TestReadRefuses checks reports that must not get into a status.
func TestReadRefuses(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `null`, `{}`, `{"trainerStatus": null}`, `{"trainerStatus": {"progressPercentage": 101}}`, `{"trainerStatus": {"progressPercentage": -1}}`,
		`{"trainerStatus": {"estimatedRemainingSeconds": 1e300}}`, `{"trainerStatus": {"metrics": [{"name": "", "value": "1"}]}}`,
		`{"trainerStatus": {"metrics": [{"name": "a\u001b[31m", "value": "1"}]}}`, `{"trainerStatus": {"metrics": [{"name": "a", "value": "1\n2"}]}}`,
	} {
		_, err := read([]byte(text), time.Now())
		require.Error(t, err, text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"trainerStatus": {"progressPercentage": 24, "metrics": [{"name":"current_step","value":"1"},{"name":"current_step","value":"2"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := read(text, time.Now())
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(r.Metrics), mostMetrics)
		names := map[string]bool{}
		for _, m := range r.Metrics {
			require.False(t, names[m.Name], "the API server wants each name once")
			names[m.Name] = true
			require.LessOrEqual(t, max(len(m.Name), len(m.Value)), mostText)
		}
		require.True(t, isPlain(Text(r)))
	})
}

// TestStepsComeFirst checks that many metrics do not push out the steps.
func TestStepsComeFirst(t *testing.T) {
	text := `{"trainerStatus":{"metrics":[`
	for i := range 60 {
		text += `{"name":"m` + strconv.Itoa(i) + `","value":"1"},`
	}
	r, err := read([]byte(text+`{"name":"current_step","value":"7"},{"name":"total_steps","value":"9"}]}}`), time.Now())
	require.NoError(t, err)
	require.Len(t, r.Metrics, mostMetrics)
	require.Equal(t, []v1alpha1.TrainerMetric{{Name: CurrentStep, Value: "7"}, {Name: TotalSteps, Value: "9"}}, r.Metrics[:2])
}

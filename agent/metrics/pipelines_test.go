package metrics

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imagesPerSecond returns the output of a run of 24 steps, whose last value is not its best.
func imagesPerSecond() string {
	var b strings.Builder
	for step := 1; step <= 23; step++ {
		value := 210 + float64(step)/10
		if step == 17 {
			value = 215.33
		}
		fmt.Fprintf(&b, "%d\timages/sec: %.2f +/- 0.0 (jitter = 0.0)\t7.%d\n", step*10, value, step)
	}
	b.WriteString("----------------\ntotal images/sec: 215.32\n----------------\n")
	return b.String()
}

func TestImagesPerSecond(t *testing.T) {
	c := collector(t, "images/sec")
	_, err := c.Writer(0).Write([]byte(imagesPerSecond()))
	require.NoError(t, err)
	got := c.Series()[0]
	require.Equal(t, []float64{24, 215.32, 215.33}, []float64{float64(got.Count), got.Last, got.Max})
	entries, notes := Entries(c.Series())
	require.Equal(t, []string{"metric images/sec is written as images-sec: Kubeflow Pipelines accepts [a-z]([-a-z0-9]*[a-z0-9])?, at most 63 bytes"}, notes)
	text, err := Encode(entries)
	require.NoError(t, err)
	require.Equal(t, `{"metrics":[{"name":"images-sec","numberValue":215.32,"format":"RAW"}]}`+"\n", string(text))
	require.Equal(t, "metric      last    most    least  count  rank\nimages/sec  215.32  215.33  210.1  24     0\n", Summary(c.Series()))
	require.Equal(t, "metric images/sec: last 215.32, most 215.33, least 210.1; 24 values of rank 0", got.Sentence())
}

func TestValid(t *testing.T) {
	rule := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	for in, want := range map[string]string{
		"loss": "loss", "images/sec": "images-sec", "val_loss": "val-loss", "Train-accuracy": "train-accuracy", "top 1 acc.": "top-1-acc",
		"5top": "metric-5top", "-x-": "x", "a--b": "a--b", "a // b": "a-b", "准确率": "metric", "Ünit": "nit", "x": "x",
		strings.Repeat("a", 70): strings.Repeat("a", 63), strings.Repeat("a", 62) + "/b": strings.Repeat("a", 62), "9" + strings.Repeat("a", 62): "metric-9" + strings.Repeat("a", 55),
	} {
		require.Equal(t, want, valid(in), in)
		require.Regexp(t, rule, valid(in))
		require.LessOrEqual(t, len(valid(in)), 63)
		require.Equal(t, valid(in), valid(valid(in)))
	}
}

func one(name string, value float64) Series {
	return Series{Spec: Spec{name, Raw}, Count: 1, Last: value, Finite: 1, Min: value, Max: value}
}

func TestNamesThatBecomeEqual(t *testing.T) {
	long := strings.Repeat("a", 63)
	entries, notes := Entries([]Series{one("val/loss", 1), one("val_loss", 2), one("val loss", 3), one("val-loss-2", 4), one(long, 5), one(long+"b", 6)})
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{"val-loss", "val-loss-3", "val-loss-4", "val-loss-2", long, long[:61] + "-2"}, names)
	require.Len(t, notes, 4)
	require.Equal(t, "metric val_loss is written as val-loss-3: Kubeflow Pipelines accepts [a-z]([-a-z0-9]*[a-z0-9])?, at most 63 bytes, and val-loss is that of metric val/loss", notes[1])
}

func TestSkippedMetrics(t *testing.T) {
	percent := one("acc", 93.5)
	percent.Format = Percentage
	entries, notes := Entries([]Series{
		{Spec: Spec{"never", Raw}}, {Spec: Spec{"odd", Raw}, Unread: 3, Sample: "odd=1,234"},
		one("nan", math.NaN()), one("inf", math.Inf(-1)), one("zero", 0), percent,
	})
	require.Equal(t, []Entry{{"zero", 0, Raw}, {"acc", 93.5, Percentage}}, entries)
	require.Equal(t, []string{
		"metric never was never seen",
		`metric odd was never seen with a number, only with "odd=1,234"`,
		"metric nan is not written: JSON cannot express its last value, NaN",
		"metric inf is not written: JSON cannot express its last value, -Inf",
		"metric acc is a PERCENTAGE of 93.5: Kubeflow Pipelines shows 0.5 as 50 %, and this as 9350 %",
	}, notes)
	text, err := Encode(nil)
	require.NoError(t, err)
	require.Equal(t, `{"metrics":[]}`+"\n", string(text))
	require.Empty(t, Summary([]Series{{Spec: Spec{"never", Raw}}}))
}

func TestAtMostFiftyMetrics(t *testing.T) {
	var all []Series
	for i := range 53 {
		all = append(all, one(fmt.Sprintf("m%d", i), 1))
	}
	entries, notes := Entries(all)
	require.Len(t, entries, 50)
	require.Equal(t, []string{"Kubeflow Pipelines accepts 50 metrics per run: the last 3 are not written"}, notes)
}

func TestOurs(t *testing.T) {
	text, err := Encode([]Entry{{"a", 1.5, Raw}})
	require.NoError(t, err)
	require.True(t, Ours(text))
	none, err := Encode(nil)
	require.NoError(t, err)
	require.True(t, Ours(none))
	for _, foreign := range []string{"", "{}", "theirs", `{"metrics": [{"name": "a", "numberValue": 1.5, "format": "RAW"}]}`, string(text) + " "} {
		require.False(t, Ours([]byte(foreign)), foreign)
	}
}

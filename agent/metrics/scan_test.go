package metrics

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// collected returns the series of the first name in names, from text of rank 0.
func collected(t *testing.T, text string, names ...string) Series {
	t.Helper()
	specs, err := Parse(names)
	require.NoError(t, err)
	c := New(specs)
	for line := range strings.SplitSeq(text, "\n") {
		c.Line(0, []byte(line))
	}
	return c.Series()[0]
}

func TestFinds(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []float64 // count, last, max, min
	}{
		{"loss", "loss=0.5", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "loss:0.5", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "loss: -1e-3", []float64{1, -0.001, -0.001, -0.001}},
		{"loss", "loss = 0", []float64{1, 0, 0, 0}},
		{"loss", "loss\t:\t3", []float64{1, 3, 3, 3}},
		{"loss", "epoch 3, loss=0.5, acc=0.9", []float64{1, 0.5, 0.5, 0.5}},
		{"acc", "epoch 3, loss=0.5, acc=0.9", []float64{1, 0.9, 0.9, 0.9}},
		{"loss", "loss=3 loss=1 loss=2", []float64{3, 2, 3, 1}},
		{"loss", "a\rloss=3\rloss=1\r", []float64{2, 1, 3, 1}},
		{"loss", " 1/9 loss: 3\b\b\b\b\b\b\bloss: 2", []float64{2, 2, 3, 2}},
		{"images/sec", "images/sec: 215.3 +/- 0.0 (jitter = 0.0)", []float64{1, 215.3, 215.3, 215.3}},
		{"jitter", "images/sec: 215.3 +/- 0.0 (jitter = 0.25)", []float64{1, 0.25, 0.25, 0.25}},
		{"total images/sec", "total images/sec: 215.32", []float64{1, 215.32, 215.32, 215.32}},
		{"top 1 acc.", "top 1 acc.: 93.5%", []float64{1, 93.5, 93.5, 93.5}},
		{"loss", "\x1b[32mloss\x1b[0m=\x1b[1;31m0.5\x1b[0m", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "loss=0.5\x1b[2Kloss=0.7\x1b[1G", []float64{2, 0.7, 0.7, 0.5}},
		{"loss", "\x1b]0;a title\x07loss=0.5", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "{'loss': 0.5, 'lr': 1e-05}", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", `{"loss":"0.5","lr":"x"}`, []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "INFO:root:loss=1", []float64{1, 1, 1, 1}},
		{"loss", "training...loss=1", []float64{1, 1, 1, 1}},
		{"loss", "|loss=1|(loss=2)[loss=3]>loss=4", []float64{4, 4, 4, 1}},
		{"准确率", "准确率: 0.5", []float64{1, 0.5, 0.5, 0.5}},
		{"loss", "loss=1\r\n", []float64{1, 1, 1, 1}},
	} {
		got := collected(t, row.text, row.name)
		require.Equal(t, row.want, []float64{float64(got.Count), got.Last, got.Max, got.Min}, row.text)
		require.Equal(t, got.Count, got.Finite, row.text)
		require.Zero(t, got.Unread, row.text)
	}
}

func TestFindsNothing(t *testing.T) {
	for _, text := range []string{
		"", "loss", "loss=", "loss 0.5", "val_loss=1", "val-loss=1", "train/loss=1", "model.loss=1", "xloss=1", "1loss=1",
		"--loss=1", "@loss=1", "äloss=1", "losses=1", "loss_x=1", "Loss=1", "val_\x1b[1mloss=1", "\x1b[31;loss=1",
		"loss': 1", `'loss": 1`, "lo\rss=1", "loss\r=1", "loss=\r1", "loss.=1",
	} {
		got := collected(t, text, "loss")
		require.Zero(t, got.Count, text)
		require.Zero(t, got.Unread, text)
	}
	require.Equal(t, 1, collected(t, "'loss=1'", "loss").Count)
}

func TestUnread(t *testing.T) {
	for text, sample := range map[string]string{
		"loss=1,234": "loss=1,234", "x loss: tensor(0.5)": "loss: tensor(0.5)", "loss == 3": "loss ==", "loss=12:30": "loss=12:30",
		"loss: '1": "loss: '1", "loss='a'": "loss='a'", "loss=1e999": "loss=1e999", "loss='1,5'": "loss='1,5'",
	} {
		got := collected(t, text, "loss")
		require.Zero(t, got.Count, text)
		require.Equal(t, 1, got.Unread, text)
		require.Equal(t, sample, got.Sample, text)
	}
	got := collected(t, "loss="+strings.Repeat("x", 1000), "loss")
	require.Equal(t, len("loss=")+maxSample, len(got.Sample))
}

func TestLongerNameComesFirst(t *testing.T) {
	text := "train loss: 0.5 val loss: 0.7"
	require.Equal(t, 2, collected(t, text, "loss").Count)
	require.Equal(t, 0.5, collected(t, text, "loss", "val loss").Last)
	require.Equal(t, 0.7, collected(t, text, "val loss", "loss").Last)
	require.Equal(t, 1, collected(t, "interval loss: 2", "loss", "val loss").Count, "the name must not match the end of another word")
}

func TestNotFinite(t *testing.T) {
	got := collected(t, "loss=2 loss=inf loss=1 loss=nan", "loss")
	require.True(t, math.IsNaN(got.Last))
	require.Equal(t, []float64{4, 2, 2, 1}, []float64{float64(got.Count), float64(got.Finite), got.Max, got.Min})
}

// FuzzScan checks that nothing panics, and that every reported number is in the text, complete,
// after the name and one separator.
func FuzzScan(f *testing.F) {
	for _, seed := range [][2]string{
		{"loss=0.5", "loss"}, {"images/sec: 215.3 +/- 0.0 (jitter = 0.0)", "images/sec"}, {"{'a': '-1e-05'}", "a"},
		{"\x1b[1ma\x1b[0m=1,234\ra = nan", "a"}, {"aa=1 a=2 aaa=3", "aa"}, {"x: 1e999 x: 1.2.3 x:.5e", "x"}, {"\xff=1 \xc3=2", "é"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, line []byte, name string) {
		specs, err := Parse([]string{name})
		if err != nil {
			return // not a valid name
		}
		c := New(specs)
		c.Line(0, line)
		c.Line(0, []byte(name+"="))
		name = specs[0].Name
		// The pattern defines independently what scan must find.
		found := 0
		for piece := range strings.FieldsFuncSeq(string(plain(line)), func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }) {
			c.finders[0].scan([]byte(piece), func(value float64, text []byte) {
				found++
				behind := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(name) + "[\"'`]?[ \t]*[=:][ \t]*[\"'`]?" + regexp.QuoteMeta(string(text)) + `($|[^0-9])`)
				if !behind.MatchString(piece) {
					t.Fatalf("%q does not follow %q in %q", text, name, piece)
				}
				want, err := strconv.ParseFloat(string(text), 64)
				if err != nil && !strings.EqualFold(strings.TrimLeft(string(text), "+-"), "nan") {
					t.Fatalf("%q is not a number: %v", text, err)
				}
				if err == nil && fmt.Sprint(want) != fmt.Sprint(value) {
					t.Fatalf("%q was read as %v", text, value)
				}
			}, func([]byte) {})
		}
		if got := c.Series()[0].Count; got != found {
			t.Fatalf("the collector counted %d numbers, scan found %d", got, found)
		}
	})
}

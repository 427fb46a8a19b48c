package progress

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkALine measures the cost of one line of a rank. The lines arrive four at a time, like
// those of 1,000 ranks with 10 lines a second.
func BenchmarkALine(b *testing.B) {
	text := bytes.NewBuffer(nil)
	for i := range 4 {
		fmt.Fprintf(text, "2026-01-02 10:00:00 INFO trainer epoch 3 step %d loss=0.2718 lr=1e-4 tokens/s=18231\n", 1000+i)
	}
	for _, row := range []struct {
		name  string
		rules []Rule
	}{
		{"no line matches", []Rule{{Expect: `iteration (\d+)`, Within: time.Hour}, {FailOn: "loss.*nan"}}},
		{"each line matches", []Rule{{Expect: step, Within: time.Hour}}},
		{"expect and fail-on", []Rule{{Expect: step, Within: time.Hour}, {FailOn: "loss.*nan"}}},
		{"ignoring case", []Rule{{Expect: step, Within: time.Hour}, {FailOn: "(?i)loss.*nan"}}},
	} {
		b.Run(row.name, func(b *testing.B) {
			set, err := Compile(row.rules)
			require.NoError(b, err)
			w := set.Begin(time.Now(), 1000)
			var streams []io.Writer
			for rank := range 1000 {
				streams = append(streams, w.Writer(rank, func() {}))
			}
			b.ReportAllocs()
			for i := 0; i < b.N; i += 4 {
				_, _ = streams[i/4%1000].Write(text.Bytes())
			}
		})
	}
}

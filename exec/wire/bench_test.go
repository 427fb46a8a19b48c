package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAppend writes one DATA frame: one line of a rank, the content of a full pipe, and the
// longest frame.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 64 << 10, MaxData} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := Frame{Type: Data, Stream: Stdout, Channel: 7, Offset: 1 << 40, Payload: make([]byte, n)}
			buf := make([]byte, 0, HeaderLen+n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				_, err := Append(buf, f)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkNext reads the same frames.
func BenchmarkNext(b *testing.B) {
	for _, n := range []int{100, 64 << 10, MaxData} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text, err := Append(nil, Frame{Type: Data, Stream: Stdout, Channel: 7, Payload: make([]byte, n)})
			require.NoError(b, err)
			src := bytes.NewReader(nil)
			r := NewReader(src)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(text)
				_, err := r.Next()
				require.NoError(b, err)
			}
		})
	}
}

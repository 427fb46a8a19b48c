package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBurst(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		name  string
		bytes int
		every time.Duration
		times int
		want  int // how often it tells
	}{
		{"much at once", 8 << 20, 10 * time.Millisecond, 100, 1},
		{"much, slowly", 8 << 20, 400 * time.Millisecond, 100, 0},
		{"little", 64 << 10, time.Millisecond, 500, 0},
	} {
		var b burst
		told := 0
		for i := range c.times {
			if b.add(c.bytes, start.Add(time.Duration(i)*c.every)) {
				told++
			}
		}
		require.Equal(t, c.want, told, c.name)
	}
}

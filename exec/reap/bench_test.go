//go:build linux

package reap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkStartWait(b *testing.B) {
	r := running(b)
	for b.Loop() {
		p, err := r.Start(Spec{Path: "/bin/true"})
		require.NoError(b, err)
		<-p.Done()
	}
}

func BenchmarkScan(b *testing.B) {
	var n int
	for b.Loop() {
		procs, err := Scan(markEnv)
		require.NoError(b, err)
		n = len(procs)
	}
	b.ReportMetric(float64(n), "procs")
}

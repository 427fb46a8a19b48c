package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/bench/report"
)

func TestParse(t *testing.T) {
	got, err := parse(`goos: linux
pkg: github.com/musterhq/muster/exec/wire
cpu: A Processor
BenchmarkNext/100-2           	  418508	       141.4 ns/op	 707.21 MB/s	       0 B/op	       1 allocs/op
BenchmarkNext/100-2           	  418508	      2141.4 ns/op	 700 MB/s	       8 B/op	       1 allocs/op
PASS
ok  	github.com/musterhq/muster/exec/wire	0.415s
pkg: github.com/musterhq/muster/exec/reap
cpu: A Processor
BenchmarkScan	       3	     23322279 ns/op	  41.00 procs	 8843021 B/op	  145681 allocs/op
BenchmarkNext/100-16	       3	     1e3 ns/op
`)
	require.NoError(t, err)
	require.Equal(t, []report.Row{
		{Name: "exec/wire: Next/100", Cells: [][]float64{{0.1414, 2.1414}, {707.21, 700}, {0, 8}, {1, 1}}},
		{Name: "exec/reap: Scan", Cells: [][]float64{{23322.279}, nil, {8843021}, {145681}}},
		{Name: "exec/reap: Next/100", Cells: [][]float64{{1}, nil, nil, nil}},
	}, got.Rows)
	require.Equal(t, []string{"cpu: A Processor"}, got.Notes)
	require.Len(t, got.Columns, len(units()))

	for text, want := range map[string]string{"": "no benchmark", "PASS\n": "no benchmark", "BenchmarkX-2 1 ten ns/op\n": "ten"} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
	}
}

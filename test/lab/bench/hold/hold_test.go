//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const metrics = `# HELP apiserver_longrunning_requests [STABLE] Gauge of all active long-running apiserver requests.
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="",verb="WATCH",version="v1"} 7
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="exec",verb="CONNECT",version="v1"} 20
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="exec",verb="GET",version="v1"} 1
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="log",verb="CONNECT",version="v1"} 3
go_goroutines 1200
go_memstats_heap_alloc_bytes 2.5e+08
go_memstats_heap_alloc_bytes_total 9e+12
go_memstats_stack_inuse_bytes 1.5e+07
process_resident_memory_bytes 6.64612e+08
`

func TestParseReading(t *testing.T) {
	r, err := parseReading(metrics)
	require.NoError(t, err)
	require.Equal(t, reading{Streams: 21, Goroutines: 1200, Live: 2.65e8, Resident: 6.64612e8}, r)

	none, err := parseReading(metrics[strings.Index(metrics, "go_goroutines"):])
	require.NoError(t, err)
	require.Zero(t, none.Streams, "there has been none yet")

	_, err = parseReading(strings.ReplaceAll(metrics, "go_goroutines", "go_threads"))
	require.ErrorContains(t, err, "no go_goroutines")
	_, err = parseReading("go_goroutines many\n")
	require.ErrorContains(t, err, "read metric")
}

// The contenders differ in how mpirun reaches the workers, and in nothing else.
func TestContendersRunTheSame(t *testing.T) {
	for _, c := range contenders() {
		p := c.launcher("i", 3, "/k")
		_, ranks, found := strings.Cut(strings.Join(p.Spec.Containers[0].Command, " "), "mpirun --allow-run-as-root ")
		require.True(t, found)
		ranks = strings.TrimPrefix(ranks, "--leave-session-attached ")
		require.Equal(t, "sh -c "+rank, ranks, c.key)
		require.Len(t, c.workers("i", 3), 3)
	}
}

func TestPerWorker(t *testing.T) {
	results := []result{
		{Contender: "muster", Workers: 20, Before: reading{Goroutines: 1000, Live: 1e6}, Into: reading{Goroutines: 1040, Live: 2e6}, ToEnd: 22},
		{Contender: "kubexec", Workers: 20, Into: reading{Streams: 20}},
		{Contender: "muster", Workers: 20, Before: reading{Goroutines: 1000}, Into: reading{Goroutines: 990}},
	}
	c := columns()
	require.Equal(t, []float64{2, -0.5}, samples(results, "muster", 20, c[goroutines].of))
	require.Equal(t, []float64{50, 0}, samples(results, "muster", 20, c[memory].of))
	require.Equal(t, []float64{20}, samples(results, "kubexec", 20, c[streams].of))
	require.Equal(t, []float64{1.1, 0}, samples(results, "muster", 20, c[len(c)-1].of))
	require.Empty(t, samples(results, "muster", 60, c[streams].of))
}

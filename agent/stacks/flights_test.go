package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func TestFlights(t *testing.T) {
	flown := func(n int, f *wire.FlightRecord) Rank {
		r := rank(n, "S futex", "")
		r.Record.Flight = f
		return r
	}
	require.Equal(t, []string{
		"flight recorder: /tmp/fr_0 on w0 (12 kB)",
		"no flight recorder of rank 2 on w2: nothing reads its pipe?[31m",
		"flight recorder: /tmp/fr?_3 on w3 (900 bytes)",
		"flight recorder: /tmp/fr_4 on w4 (25 MB)",
	}, Flights([]Rank{
		flown(0, &wire.FlightRecord{Path: "/tmp/fr_0", Bytes: 12345}), flown(1, nil),
		flown(2, &wire.FlightRecord{Path: "/tmp/fr_2", Why: "nothing reads its pipe\x1b[31m"}),
		flown(3, &wire.FlightRecord{Path: "/tmp/fr\n_3", Bytes: 900}), flown(4, &wire.FlightRecord{Path: "/tmp/fr_4", Bytes: 25e6}),
	}))
	var many []Rank
	for n := range 1000 {
		f := &wire.FlightRecord{Path: fmt.Sprint("/tmp/fr_", n)}
		if n%2 > 0 {
			f.Why = "no dump came in time"
		}
		many = append(many, flown(n, f))
	}
	lines := Flights(many)
	require.Len(t, lines, 2*mostFlights+2)
	require.Equal(t, []string{"flight recorder: and 492 more dumps", "no flight recorder: and of 492 more ranks"}, lines[2*mostFlights:])
	require.Empty(t, Flights(nil))
}

func TestRASLines(t *testing.T) {
	require.Empty(t, RAS(nil, "w0"))
	require.Empty(t, RAS([]byte("\n\n"), "w0"))
	require.Equal(t, []string{"NCCL's RAS service on w0 says:", "  Job summary", "  ===========", "    Nodes  Processes?[31m", "  cut"},
		RAS([]byte("\nJob summary\r\n===========\n\n  Nodes  Processes\x1b[31m  \ncut"), "w0"))
	lines := RAS([]byte(strings.Repeat("line\n", 1000)), "w0")
	require.Len(t, lines, mostRAS+2)
	require.Equal(t, "  and more", lines[mostRAS+1])
}

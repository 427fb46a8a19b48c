package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]Fault{
		"drop every=256KiB":               {Verb: "drop", Worker: -1, Every: 256 << 10},
		"drop every=4KiB":                 {Verb: "drop", Worker: -1, Every: 4 << 10},
		"drop every=1MB worker=1":         {Verb: "drop", Worker: 1, Every: 1e6},
		"drop after=3s":                   {Verb: "drop", Worker: -1, After: 3 * time.Second},
		"kill worker=2 after=3s":          {Verb: "kill", Worker: 2, After: 3 * time.Second},
		"stall worker=1 after=2s for=10s": {Verb: "stall", Worker: 1, After: 2 * time.Second, For: 10 * time.Second},
	} {
		got, err := ParseFaults([]string{text}, 4)
		require.NoError(t, err, text)
		require.Equal(t, []Fault{want}, got, text)
	}
	for _, text := range []string{
		"", "drop", "drop every=2KiB", "drop every=0", "drop every=256XB", "drop every=-1", "drop every=1KiB after=1s", "drop 256KiB",
		"kill after=3s", "kill worker=-1 after=3s", "kill worker=9 after=1s", "stall after=2s", "stall for=2s",
		"explode after=1s", "drop after=3", "drop after=-3s", "drop after=3s color=red", "drop every=999999999999G",
	} {
		_, err := ParseFaults([]string{text}, 4)
		require.Error(t, err, text)
		require.Equal(t, names.ExitUsage, failure.CodeOf(err), text)
	}
}

func FuzzParseFault(f *testing.F) {
	f.Add("drop every=256KiB worker=1")
	f.Add("stall worker=1 after=2s for=10s")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := parseFault(text)
		if err == nil && (fault.Every < 0 || fault.After < 0 || fault.For < 0 || fault.Worker < -1) {
			t.Fatalf("%q: %+v", text, fault)
		}
	})
}

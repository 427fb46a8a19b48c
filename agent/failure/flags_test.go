package failure

import (
	"errors"
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlag(t *testing.T) {
	run := []string{"workers", "min-workers", "max-workers", "slots", "procs-per-worker", "hostfile", "namespace", "env", "chdir", "max-restarts", "fake", "log-level", "timeout"}
	for typed, want := range map[string]string{
		"--np": "workers", "nproc": "workers", "--nproc_per_node": "procs-per-worker", "nnodes": "workers", "hosts": "hostfile", "H": "hostfile",
		"ntasks-per-node": "procs-per-worker", "x": "env", "wdir": "chdir", "wrokers": "workers", "max_restarts": "max-restarts", "name-space": "namespace",
		"procs": "workers", "log": "log-level", "name": "namespace", "retries": "max-restarts",
		"frobnicate": "", "z": "", "max": "",
	} {
		require.Equal(t, want, Flag(typed, run), typed)
	}
	require.Equal(t, "slots", Flag("nproc-per-node", []string{"slots"}), "only flags of this command are suggested")
	require.Empty(t, Flag("np", []string{"output"}))
}

// TestOfFlags checks that the message about an invalid value contains a valid one.
func TestOfFlags(t *testing.T) {
	for line, want := range map[string]string{
		"-grace=soon":     `--grace="soon": want a time, as in --grace=90s, 10m or 1h`,
		"--slots=a: b":    `--slots="a: b": want a number, as in --slots=4`,
		"--quick=perhaps": `invalid boolean value "perhaps" for -quick: parse error`,
		"--own=x":         `invalid value "x" for flag -own: it takes y`,
		"--slot=3":        "unknown flag: -slot",
		"--grace":         "flag needs an argument: -grace",
	} {
		set := flag.NewFlagSet("x", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		set.Duration("grace", 0, "")
		set.Int("slots", 0, "")
		set.Bool("quick", false, "")
		set.Func("own", "", func(string) error { return errors.New("it takes y") })
		f := OfFlags("agent x", set, set.Parse([]string{line}))
		require.EqualError(t, f, want)
		require.Contains(t, f.Way, "agent x --help lists the flags")
	}
}

func TestFlagHint(t *testing.T) {
	require.Equal(t, "did you mean --workers? agent run --help lists the flags", FlagHint("agent run", "np", []string{"workers"}))
	require.Equal(t, "agent run --help lists the flags", FlagHint("agent run", "frobnicate", []string{"workers"}))
}

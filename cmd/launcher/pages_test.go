//go:build linux

package main

import (
	"os"
	osexec "os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// columns matches a row of a table with two columns, and captures the command in the right column.
var columns = regexp.MustCompile("(?m)^\\| .* \\| `(agent [^`]+)` \\|$")

// TestTheNewCommandsAreCommands checks the tables "what you type today, what you type with Muster".
// It plans each run on fake workers, prints each job, and parses the flags of other verbs.
func TestTheNewCommandsAreCommands(t *testing.T) {
	for name, least := range map[string]int{"torchrun": 13, "ssh-srun": 27} {
		text, err := os.ReadFile("../../docs/moving/" + name + ".md")
		require.NoError(t, err)
		rows := columns.FindAllStringSubmatch(string(text), -1)
		require.GreaterOrEqual(t, len(rows), least, name)
		for _, row := range rows {
			t.Run(row[1], func(t *testing.T) {
				words, err := osexec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+row[1]).Output()
				require.NoError(t, err)
				require.NoError(t, rehearse(t, strings.Split(strings.TrimSpace(string(words)), "\n")[1:]))
			})
		}
	}
}

// aFlagOfPods matches flags that need pods.
var aFlagOfPods = regexp.MustCompile(`^--(workers|pods)=`)

// rehearse runs as much of a command as possible without a cluster.
func rehearse(t *testing.T, args []string) error {
	t.Helper()
	switch verb := args[0]; {
	case verb == "run" || verb == "submit":
		for i, word := range args {
			if verb == "run" && aFlagOfPods.MatchString(word) {
				args[i] = "--fake=4"
			}
		}
		cmd := osexec.CommandContext(t.Context(), bin+"/agent", slices.Insert(args, 1, "--dry-run")...)
		cmd.Env = append(os.Environ(), "MUSTER_DIR="+t.TempDir()+"/r")
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", said)
		return nil
	case slices.Contains(names.SmallVerbs(), verb):
		return nil // its flags are in the small binary
	default:
		cmd, rest, err := newRoot(standard(asAgent), "").Find(args)
		require.NoError(t, err)
		require.Equal(t, verb, cmd.Name())
		return cmd.ParseFlags(rest)
	}
}

func TestEveryVerbAndFlagIsDescribed(t *testing.T) {
	for _, cmd := range newRoot(standard(asAgent), "").Commands() {
		if slices.Contains(append(names.SmallVerbs(), "help"), cmd.Name()) {
			continue
		}
		require.NotEmpty(t, cmd.Short, cmd.Name())
		require.Contains(t, cmd.Long, "usage: ", cmd.Name())
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			require.True(t, flag.Hidden || flag.Usage != "", "agent %s --%s", cmd.Name(), flag.Name)
		})
	}
}

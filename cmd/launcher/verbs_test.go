package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/settings"
)

func TestNearest(t *testing.T) {
	for typed, want := range map[string]string{
		"rnu": "run", "runn": "run", "ru": "run", "urn": "run", "hsots": "hosts", "host": "hosts", "wroker": "worker", "worker-": "worker",
		"instal": "install", "reday": "ready", "hlep": "help", "jion": "join", "vesion": "version", "mpirun": "", "frobnicate": "", "x": "",
	} {
		require.Equal(t, want, failure.Nearest(typed, allVerbs()), typed)
	}
}

func TestEveryVerbExists(t *testing.T) {
	var there []string
	for _, cmd := range newRoot(standard(asAgent), "").Commands() {
		there = append(there, cmd.Name())
	}
	require.ElementsMatch(t, allVerbs(), append(there, "help"))
}

// TestHelpListsEveryVerb checks the help that agent and kubectl muster print without a verb.
func TestHelpListsEveryVerb(t *testing.T) {
	small, err := exec.Command(filepath.Join(bin, "agent"), "--help").Output()
	require.NoError(t, err)
	for help, verbs := range map[string][]string{string(small): allVerbs(), rootHelp: allVerbs(), pluginHelp: asPlugin.verbs()} {
		for _, verb := range verbs {
			if verb != "help" {
				require.Regexp(t, `\b`+verb+`\b`, help)
			}
		}
	}
}

func TestEveryFlagHasAVariable(t *testing.T) {
	for _, cmd := range newRoot(standard(asAgent), "").Commands() {
		if slices.Contains([]string{"run", "env", "hosts"}, cmd.Name()) {
			cmd.Flags().VisitAll(func(flag *pflag.Flag) {
				require.Contains(t, settings.Known(), settings.Variable(flag.Name), cmd.Name())
			})
		}
	}
}

// TestHelpFits checks that a help text fits on the screen of a terminal.
func TestHelpFits(t *testing.T) {
	for verb, most := range map[string]int{"run": 60, "env": 60, "hosts": 60, "submit": 60, "logs": 40} {
		out := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(out)
		require.NoError(t, err)
		streams := standard(asAgent)
		streams.Out = &printed{file: file}
		require.Zero(t, run(t.Context(), []string{verb, "--help"}, streams))
		require.NoError(t, file.Close())
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Contains(t, string(text), "usage: agent "+verb)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), most, verb)
	}
}

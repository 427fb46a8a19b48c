package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCalledAs(t *testing.T) {
	for line, want := range map[string]struct {
		by   caller
		args string
	}{
		"/usr/bin/agent-launcher list":            {asAgent, "list"},
		"agent":                                   {asAgent, ""},
		"/home/u/.krew/bin/kubectl-muster list":   {asPlugin, "list"},
		"kubectl-muster.exe list":                 {asPlugin, "list"},
		"/home/u/bin/kubectl_complete-muster lo":  {asPlugin, "__complete lo"},
		"kubectl_complete-muster.exe logs --foll": {asPlugin, "__complete logs --foll"},
	} {
		by, args := calledAs(strings.Fields(line))
		require.Equal(t, want.by, by, line)
		require.Equal(t, want.args, strings.Join(args, " "), line)
	}
	by, args := calledAs(nil)
	require.Equal(t, asAgent, by)
	require.Empty(t, args)
}

func TestVerbFirst(t *testing.T) {
	for line, want := range map[string]string{
		"list -n lab":                           "list -n lab",
		"-n lab list -o name":                   "list -n lab -o name",
		"-nlab list":                            "list -nlab",
		"--context=x --kubeconfig f logs -f pi": "logs --context=x --kubeconfig f -f pi",
		"--namespace lab":                       "--namespace lab",
		"-n":                                    "-n",
		"--context x --help":                    "--context x --help",
		"-f list":                               "-f list",
		"":                                      "",
	} {
		require.Equal(t, want, strings.Join(verbFirst(strings.Fields(line)), " "), line)
	}
}

func TestPluginVerbs(t *testing.T) {
	var there []string
	for _, cmd := range newRoot(standard(asPlugin), "").Commands() {
		there = append(there, cmd.Name())
	}
	require.ElementsMatch(t, clientVerbs(), append(there, "help"))
}

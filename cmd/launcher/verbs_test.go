package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	for typed, want := range map[string]string{
		"rnu": "run", "runn": "run", "ru": "run", "urn": "run", "hsots": "hosts", "host": "hosts", "wroker": "worker", "worker-": "worker",
		"instal": "install", "reday": "ready", "hlep": "help", "vesion": "version", "mpirun": "", "frobnicate": "", "x": "",
	} {
		require.Equal(t, want, nearest(typed), typed)
	}
}

func TestEveryVerbIsThere(t *testing.T) {
	var there []string
	for _, cmd := range newRoot(standard()).Commands() {
		there = append(there, cmd.Name())
	}
	require.ElementsMatch(t, slices.Concat(ownVerbs, otherVerbs), append(there, "help"))
}

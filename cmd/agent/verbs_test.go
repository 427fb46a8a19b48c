//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

func TestEveryVerbOfTheListExists(t *testing.T) {
	for _, verb := range names.SmallVerbs() {
		require.Contains(t, verbs(), verb)
	}
}

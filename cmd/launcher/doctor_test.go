//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

func TestNoLauncherHere(t *testing.T) {
	t.Setenv(names.EnvDir, t.TempDir()+"/none")
	t.Setenv(names.EnvBroker, "")
	require.False(t, launcherIsHere())
	_, err := askLauncher()
	require.ErrorContains(t, err, "no launcher runs here")
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
}

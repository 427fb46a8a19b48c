//go:build linux

package files

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
)

func TestLauncherInterface(t *testing.T) {
	require.Equal(t, "lo", launcherInterface(config.Config{Launching: config.Launching{Interface: "lo"}}))
	require.Equal(t, "lo", launcherInterface(config.Config{Launching: config.Launching{Interface: "127.0.0.0/8"}}))
	require.Equal(t, ownInterface(config.Config{}), launcherInterface(config.Config{Launching: config.Launching{Interface: "nosuch0"}}), "the launcher may lack the interface of the workers")
	require.Equal(t, ownInterface(config.Config{}), launcherInterface(config.Config{}))
}

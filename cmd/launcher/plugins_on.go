//go:build plugins && !windows

package main

import (
	"github.com/musterhq/muster/agent/framework/plugin"
	"github.com/musterhq/muster/agent/launch/config"
)

// withPlugins enables plugins in c, because this is agent-launcher-plugins.
func withPlugins(c *config.Config) error {
	c.OpenPlugin = plugin.Open
	return nil
}

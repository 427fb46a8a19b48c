// Command sample is a plugin for `agent run --framework plugin:nodelist`: it
// gives programs that were written for SkyPilot or dstack the list of nodes that
// they read there. README.md beside it shows how to build, name and run it.
package main

import "github.com/musterhq/muster/agent/framework/plugin"

func main() { plugin.Serve(nodeList{}) }

// Command sample is a plugin for `agent run --framework plugin:nodelist`. It sets the list of nodes
// that programs written for SkyPilot or dstack read. README.md beside it shows how to build, name
// and run it.
package main

import "github.com/musterhq/muster/agent/framework/plugin"

func main() { plugin.Serve(nodeList{}) }

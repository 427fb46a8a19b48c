package names

// SmallVerbs returns the verbs of the small binary `agent` that people type. It hands all
// other verbs to agent-launcher. Two more are not listed: attach without a name and lay,
// which the launcher runs in workers.
func SmallVerbs() []string { return []string{"worker", "ready", "rsh", "install", "join"} }

package names

// SmallVerbs returns the verbs of the small binary `agent` that people type. It passes all other
// verbs to agent-launcher. Two verbs are not listed, because only the launcher runs them, in
// workers: attach without a name, and lay.
func SmallVerbs() []string { return []string{"worker", "ready", "rsh", "install", "join"} }

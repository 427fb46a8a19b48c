// Package settings is the one table of the options of a run. It has the name of each on a command
// line, in the environment and in a LaunchJob, the values that it takes, and its default.
//
// The flags of agent run, env, hosts, join and submit come from it. So do the known MUSTER_*
// variables, the defaults of launchers and members, and the values that the controller passes to
// them. A struct that takes options tags its fields with their names, flag:"slots"; [Fields] finds
// them.
//
// Options that only one verb has, and that no other package needs, stay with that verb: --image of
// submit, --explain of env.
package settings

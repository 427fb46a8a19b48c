// Package settings is the one table of the options of a run: how each is called on a
// command line, in the environment and in a LaunchJob, what it takes, and what it is by
// itself.
//
// The flags of agent run, env, hosts, join and submit come from it, and so do the MUSTER_*
// variables that are known, the defaults of launchers and members, and what the controller
// tells them. A struct that takes options tags its fields with their names, flag:"slots";
// [Fields] finds them.
//
// Options that only one verb has, and that nothing else has to know, stay with that verb:
// --image of submit, --explain of env.
package settings

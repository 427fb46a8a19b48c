// Package plugin runs plugins as the launcher does, in processes of their own
// under a reaper: the sample through the contract suite, and a hostile set, each
// of which must be one clear sentence in time, and leave no process, no zombie,
// no goroutine and no file behind.
package plugin

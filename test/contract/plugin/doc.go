// Package plugin runs plugins as the launcher does, as processes below a reaper. The sample plugin must pass the
// contract suite. Each plugin of a hostile set must cause one clear error in time, and leave no process, zombie,
// goroutine or file behind.
package plugin

package goodput

import "github.com/musterhq/muster/agent/timeline"

// Class is what a part of a worker's time was spent on.
type Class string

// The classes, in the order in which a worker usually meets them.
const (
	Queued     Class = "queued"
	Pulling    Class = "pulling"
	Starting   Class = "starting"
	Checking   Class = "checking"
	Productive Class = "productive"
	Stalled    Class = "stalled"
	Saving     Class = "saving"
	Lost       Class = "lost"
	Restarting Class = "restarting"
	Spare      Class = "spare"
	Ending     Class = "ending"
	Gone       Class = "gone"
	Unknown    Class = "unknown"
)

// About is one entry of the table of classes.
type About struct {
	Class Class
	// Means says when a worker's time is of the class.
	Means string
	// Counted means that the ratio counts the class.
	Counted bool
}

// Table returns every class, in the order in which a worker usually meets them.
func Table() []About {
	return []About{
		{Queued, "its pod was created, and has no node", true},
		{Pulling, "its node pulls an image", true},
		{Starting, "its pod or its link starts, or it waits for the other workers", true},
		{Checking, "the preflight checks the workers", true},
		{Productive, "the command runs, and this work was kept: the attempt has succeeded or still runs, or a later checkpoint has the work", true},
		{Stalled, "the command runs without progress, from its last sign of progress to the next one, or to the end of the attempt", true},
		{Saving, "the command was asked to stop, and the worker's ranks have not ended: they may save", true},
		{Lost, "the command ran, and the work was lost: its attempt has failed, and wrote no later checkpoint", true},
		{Restarting, "an attempt has ended, or has failed and its ranks on the worker have ended, and the next one has not started", true},
		{Spare, "it is a spare, and an attempt runs on other workers", true},
		{Ending, "the same after the last attempt, until the run ends", true},
		{Gone, "it was given up, and its replacement has not started", false},
		{Unknown, "the events do not say, or an attempt has failed without --progress-file, so that what it kept is unknown", false},
	}
}

// known reports whether this release knows the class.
func (c Class) known() bool {
	for _, a := range Table() {
		if a.Class == c {
			return true
		}
	}
	return false
}

// classOf returns the class of a phase. The phase Running has several.
func classOf(p timeline.Phase) Class {
	switch p {
	case timeline.Queued:
		return Queued
	case timeline.Pulling:
		return Pulling
	case timeline.Starting, timeline.Linking, timeline.Waiting:
		return Starting
	case timeline.Checking:
		return Checking
	case timeline.Restarting:
		return Restarting
	case timeline.Spare:
		return Spare
	case timeline.Lost:
		return Gone
	case timeline.Ending:
		return Ending
	}
	return Unknown
}

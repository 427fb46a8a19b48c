package timeline

// Phase is what a worker does, or what it waits for.
type Phase string

// The phases, in the order in which a worker usually meets them.
const (
	Unknown    Phase = "unknown"
	Queued     Phase = "queued"
	Pulling    Phase = "pulling"
	Starting   Phase = "starting"
	Linking    Phase = "linking"
	Waiting    Phase = "waiting"
	Checking   Phase = "checking"
	Running    Phase = "running"
	Restarting Phase = "restarting"
	Spare      Phase = "spare"
	Lost       Phase = "lost"
	Ending     Phase = "ending"
)

// About is one entry of the table of phases.
type About struct {
	Phase Phase
	Mark  byte // of the phase in a bar
	// Means says when a worker is in the phase.
	Means string
	// Shared means that the workers of a run enter and leave the phase together, or that a long time
	// in it is the fault of another worker. It then has no slowest worker.
	Shared bool
}

// Table returns every phase, in the order in which a worker usually meets them.
func Table() []About {
	return []About{
		{Queued, 'q', "its pod was created, and has no node", false},
		{Pulling, 'p', "its node pulls an image", false},
		{Starting, 's', "its pod has a node, and its container has not started", false},
		{Linking, 'l', "its container has started, and the launcher has no link to it", false},
		{Waiting, 'w', "it has a link, and waits for the other workers or for the launcher", true},
		{Checking, 'c', "the preflight checks the workers", true},
		{Running, '=', "an attempt of the command runs on it", true},
		{Restarting, 'r', "an attempt has ended, and the next one has not started", true},
		{Spare, 'i', "an attempt runs on other workers", true},
		{Lost, 'x', "it was given up, and its replacement has not started", false},
		{Ending, 'e', "the last attempt has ended, and the run has not", true},
		{Unknown, '.', "the events do not say", true},
	}
}

// Shared reports whether the workers of a run enter and leave the phase together, as in About.
func (p Phase) Shared() bool { return of(p).Shared }

// of returns the entry of a phase.
func of(p Phase) About {
	for _, a := range Table() {
		if a.Phase == p {
			return a
		}
	}
	return About{Phase: p, Mark: '?', Shared: true}
}

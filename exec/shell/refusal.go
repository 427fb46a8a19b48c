package shell

// Refusal reports a construct of a line that this shell does not run.
type Refusal struct {
	Construct string // a noun with the characters: "a pipe (|)"
}

func (r *Refusal) Error() string {
	return "the image has no /bin/sh, and the shell of the agent cannot run " + r.Construct + ": put /bin/sh into the image"
}

func refuse(construct string) error { return &Refusal{Construct: construct} }

package framework

// Launch is what Prepare found. Without Processes the command runs in the
// launcher, with Env; with them nothing runs there, and each process is started
// on its worker.
type Launch struct {
	Env []Var // of the command in the launcher, before Merge
	// Argv is the command in the launcher where it is not the user's as it
	// stands: horovodrun and deepspeed are told their hosts by options.
	Argv      []string
	Processes []Process // in the order in which they are listed in messages
	// Files are laid into a directory of each worker before anything starts
	// there. [FilesDir] in the value of a variable stands for that directory.
	Files []File
	// Shims: the command calls ssh, rsh or pdsh by these names, so PATH has to find
	// the agent under them.
	Shims bool
	// Elastic: its processes take in one more that is started beside them. Else, and
	// when a worker goes, a change of the workers needs a new attempt.
	Elastic bool
	// Any: the first process that ends well decides, and others may fail until
	// none is left. Else see [Part].
	Any      bool
	Warnings []string
}

// FilesDir stands for the directory of [Launch.Files] in a Var's value.
const FilesDir = "{files}"

// File is a small file on a worker: a Python module, a configuration.
type File struct {
	Name string // relative, no directory part
	Data []byte
}

// Process is one process on one worker.
type Process struct {
	Worker int // index into Cluster.Workers
	// Rank is its number among the processes of the job that have one, from 0,
	// the same as in Env; -1: it has none (a Ray node, an MXNet scheduler).
	Rank  int
	Local int    // its number among the ranks of its worker, from 0
	Role  string // as the framework calls it
	Index int    // its number among those of that role, from 0
	Env   []Var  // before Merge
	Argv  []string
	Part  Part
	// After is "host:port": it is started when something listens there. "": at once.
	After string
}

// Part is what the end of a process means for the job.
type Part int

const (
	// Works means that the job has succeeded when all that work have; the first that fails
	// is the job's failure, and the rest is stopped.
	Works Part = iota
	// Decides means that where any process decides, the job has succeeded when all of these
	// have, and whatever works still is stopped. A failure before counts as one.
	Decides
	// Serves means that it does not end by itself and is stopped, last and in the order of
	// Launch.Processes, when the job is decided; its end then does not count. A
	// failure before counts.
	Serves
)

// Var is one environment variable and the reason for it.
type Var struct {
	Name, Value, Why string
	// Or lists other names by which a user settles the same thing: when one of
	// them is set, this variable is left out.
	Or []string
	// NotEmpty says that the user's empty value counts as not set.
	NotEmpty bool
	// Extend joins Value and what the user has set, ours first: ":" for a search
	// path. "": the user's value is kept in place of ours.
	Extend string
	// Default says that the user's own value is as good: no warning names it.
	Default bool
}

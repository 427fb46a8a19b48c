package framework

// Launch is the result of Prepare. Without Processes the command runs in the launcher, with Env.
// With Processes nothing runs in the launcher, and each process is started on its worker.
type Launch struct {
	Env []Var // of the command in the launcher, before Merge
	// Argv is the command in the launcher if it differs from the user's: horovodrun and deepspeed
	// get their hosts by options.
	Argv      []string
	Processes []Process // in the order in which messages list them
	// Files are written into a directory of each worker before anything starts there. [FilesDir] in
	// the value of a variable stands for that directory.
	Files []File
	// Shims means that the command calls ssh, rsh or pdsh by these names, so PATH must find the
	// agent under them.
	Shims bool
	// Elastic means that running processes accept a new one. Otherwise, and whenever a worker
	// leaves, a change of the workers needs a new attempt.
	Elastic bool
	// Any means that the first process that succeeds decides, and that failures do not count unless
	// all processes fail. If it is false, see [Part].
	Any      bool
	Warnings []string
}

// FilesDir stands for the directory of [Launch.Files] in the value of a Var.
const FilesDir = "{files}"

// File is a small file on a worker: a Python module or a configuration.
type File struct {
	Name string // relative, without a directory
	Data []byte
}

// Process is one process on one worker.
type Process struct {
	Worker int // index into Cluster.Workers
	// Rank is its number among the ranked processes of the job, from 0, the same as in Env. It is
	// -1 if it has none (a Ray node, an MXNet scheduler).
	Rank  int
	Local int    // number among the ranks of its worker, from 0
	Role  string // as the framework calls it
	Index int    // number among the processes of that role, from 0
	Env   []Var  // before Merge
	Argv  []string
	Part  Part
	// After is "host:port": the process is started when something listens there. "" means at once.
	After string
}

// Part is what the end of a process means for the job.
type Part int

const (
	// Works means that the job succeeds when all working processes have succeeded. The first
	// failure is the failure of the job, and the other processes are stopped.
	Works Part = iota
	// Decides means that the job succeeds when all deciding processes have succeeded. Working
	// processes are then stopped. A failure of any process before that fails the job.
	Decides
	// Serves means that the process does not end by itself. It is stopped when the job is decided,
	// after the others and in the order of Launch.Processes, and its exit code then does not count.
	// A failure before that counts.
	Serves
)

// Var is an environment variable, and the reason for it.
type Var struct {
	Name, Value, Why string
	// Or lists other variables that decide the same thing: if the user has set one of them, this
	// variable is left out.
	Or []string
	// NotEmpty means that an empty value of the user's counts as not set.
	NotEmpty bool
	// Extend is the separator between Value and the user's value, Value first: ":" for a search
	// path. If it is "", the user's value replaces Value.
	Extend string
	// Default means that the user's own value is as good: no warning names it.
	Default bool
}

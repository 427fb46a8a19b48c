package wire

// AskFactsRecord asks for facts about the worker's container and node. It is part of an AskRecord.
type AskFactsRecord struct {
	// Command is the first word of what is going to run on the worker; "": nothing is looked up.
	Command string `json:"command,omitempty"`
	// Dir is where it is going to run; "": the sessions' default.
	Dir string `json:"dir,omitempty"`
	// Versions asks for versions of drivers, libraries and Python. This reads some directories.
	Versions bool `json:"versions,omitempty"`
	// Packages are the Python packages whose versions are wanted.
	Packages []string `json:"packages,omitempty"`
	// Address is an IP address whose name the worker is to look up; "": none.
	Address string `json:"address,omitempty"`
}

// FactsRecord is what PID 1 sees of its container and node, without starting a program. A fact that
// cannot be read is missing: nil, or 0 for a count of something that is always there.
type FactsRecord struct {
	// NowMillis is the worker's clock, in Unix milliseconds.
	NowMillis int64 `json:"nowMillis,omitempty"`
	// Shm is the file system at /dev/shm, and Disk the one of the working directory.
	Shm  *Space `json:"shm,omitempty"`
	Disk *Space `json:"disk,omitempty"`
	// Soft limits of processes: bytes of locked memory, and open files.
	Memlock   *Limit `json:"memlock,omitempty"`
	OpenFiles *Limit `json:"openFiles,omitempty"`
	// Limits of the container: number of processes, and bytes of memory. Used is how much of them
	// is in use.
	Pids       *Limit `json:"pids,omitempty"`
	PidsUsed   int64  `json:"pidsUsed,omitempty"`
	Memory     *Limit `json:"memory,omitempty"`
	MemoryUsed int64  `json:"memoryUsed,omitempty"`
	// CPU is the container's limit in thousandths of a processor.
	CPU *Limit `json:"cpu,omitempty"`
	// Devices is the number of device files by kind: nvidia, amd, neuron, gaudi, tpu, rdma. A kind
	// without devices is missing. It is nil if /dev cannot be read.
	Devices map[string]int `json:"devices,omitempty"`
	// Versions are versions of software, by name: the kernel, drivers, libraries, Python packages.
	Versions map[string]string `json:"versions,omitempty"`
	// Program is the path of AskFactsRecord.Command; ProgramError says why there is none. Interpreter
	// is the program that runs it, if it is a script.
	Program          string `json:"program,omitempty"`
	ProgramError     string `json:"programError,omitempty"`
	Interpreter      string `json:"interpreter,omitempty"`
	InterpreterError string `json:"interpreterError,omitempty"`
	// LookupMillis is how long the name server took to answer for AskFactsRecord.Address, in
	// milliseconds, whether there is a name or not. LongestLookup means that it did not answer.
	LookupMillis *int64 `json:"lookupMillis,omitempty"`
}

// LongestLookup is how long a worker waits for the name of an address, in milliseconds.
const LongestLookup = 1000

// Space is the size of a file system and what is free for ordinary users, in bytes.
type Space struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Free int64  `json:"free"`
	// Filesystem is its type: tmpfs, overlay.
	Filesystem string `json:"filesystem,omitempty"`
}

// Limit is a limit in a unit that its field names. Unlimited is no limit.
type Limit int64

// Unlimited is a Limit that is none.
const Unlimited Limit = -1

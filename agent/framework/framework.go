package framework

// Framework prepares the run of one framework.
type Framework interface {
	// Prepare returns what to start, where, and with which variables. The order is fixed: the same
	// Cluster gives the same Launch. An error names what the cluster lacks, and comes without a
	// Launch.
	Prepare(Cluster) (Launch, error)
}

// Node is a worker, or the launcher.
type Node struct {
	Name  string // pod name, or name of the fake worker
	Host  string // as in the hostfile
	IP    string
	Slots int // ranks that it takes, at least 1; 0 for a launcher that takes none
	Index int // position in rank order, from 0
	// Role is the worker's role in the framework ("chief", "ps", "worker"), or "" if no roles were
	// given. RoleIndex is its number among the workers of that role, from 0; see [ParseRoles].
	Role      string
	RoleIndex int
	Interface string // the network interface that has IP; "" if not known
	GPUs      int    // number of GPUs
}

// Cluster is what Muster knows when all workers are ready. Paths are absolute.
type Cluster struct {
	Job, Namespace string
	RunDir         string // private directory of this run
	Launcher       Node
	Workers        []Node // in rank order
	// Agent is the rsh agent as mpirun has to call it. Open MPI splits the value at ':' and at
	// blanks, and looks for the same path on every worker.
	Agent         string
	Hostfile      string // "name slots=N" lines
	HydraHostfile string // "name:N" lines
	DiscoverHosts string // program that prints a "name:N" line for each current worker; "": none
	// Fake means that the workers are processes on this machine, on 127.0.0.0/8.
	Fake bool
	// SharedCores means that two workers may compute on one core; see [SharedCores].
	SharedCores bool
	// Processors is the number of processors that all fake workers share. It is 0 if not known, and
	// in a cluster.
	Processors int
	Root       bool   // the launcher's uid is 0
	Home       string // HOME for a user who has none
	Temp       string // TMPDIR where /tmp cannot be written, or is shared with other runs
	NoPasswd   bool   // the launcher's uid has no passwd entry, or one without a shell that Open MPI knows
	// Interface is the network interface with the launcher's address, if workers have one of the
	// same name ("eth0"), or "" if not known. Fake clusters use lo.
	Interface string
	// NoRDMA means that no worker has an RDMA device. Only then may UCX be restricted to one
	// network interface, because that excludes RDMA devices.
	NoRDMA bool
	// NoGPU means that no worker has an accelerator. Only then may a library be told to use CPUs.
	NoGPU   bool
	UserEnv []string // K=V, the environment of the user's command

	Command []string // argv of the user's command
	Below   []string // words of the launcher that the command starts, see [Below]; nil if none is known
	Procs   int      // processes that Muster starts on each worker; 0: 1
	// Port is the first of PortBlock ports that only this attempt uses. Attempts do not share
	// ports, because a port cannot be bound again within a minute of its last use.
	Port    int
	Attempt int // number of this attempt, from 0
	// LeastWorkers is the number of workers that an elastic run needs; 0 means all, not elastic.
	// MostWorkers is the largest number that it may have; 0 means the current number.
	LeastWorkers, MostWorkers int
	// FirstWorkers is the number of workers with which the attempt of an elastic run started; 0
	// means the current number.
	FirstWorkers int
	// Store indexes the worker that hosts the rendezvous store of an elastic run. It does not move
	// when a lower rank joins.
	Store int
}

// PortBlock is the number of ports of an attempt: Port to Port+PortBlock-1.
const PortBlock = 1000

// slots returns the smallest and the largest number of slots of the workers.
func (c Cluster) slots() (least, most int) {
	for i, w := range c.Workers {
		if i == 0 || w.Slots < least {
			least = w.Slots
		}
		most = max(most, w.Slots)
	}
	return least, most
}

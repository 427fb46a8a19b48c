package framework

// Framework prepares one framework's run.
type Framework interface {
	// Prepare returns what to start, where, and with which variables, in a
	// fixed order: the same Cluster gives the same Launch. Errors name what the
	// cluster lacks; no partial Launch comes with them.
	Prepare(Cluster) (Launch, error)
}

// Node is one place where ranks run, or the launcher.
type Node struct {
	Name  string // pod name, or the fake host's name
	Host  string // what stands in the hostfile
	IP    string
	Slots int // ranks it takes, at least 1; 0 for a launcher that takes none
	Index int // its number in rank order, from 0
	// Role is what the worker is for the framework ("chief", "ps", "worker") and
	// RoleIndex its number among those of that role, from 0; see [ParseRoles].
	// Role is "" where no roles were given.
	Role      string
	RoleIndex int
	Interface string // the network interface that holds IP; "": not known
	GPUs      int    // how many it has; 0: none
}

// Cluster is what is known when every worker is there. Paths are absolute.
type Cluster struct {
	Job, Namespace string
	RunDir         string // private directory of this run
	Launcher       Node
	Workers        []Node // in rank order
	// Agent is the rsh agent as mpirun must call it. Open MPI splits the value
	// at ':' and at blanks, and looks for the same path on every worker.
	Agent         string
	Hostfile      string // "name slots=N" lines
	HydraHostfile string // "name:N" lines
	DiscoverHosts string // program that prints "name:N" lines of the workers there are now; "": none
	// Fake says that the workers are processes on this machine, on 127.0.0.0/8.
	Fake bool
	// SharedCores says that two workers may compute on one core; see [SharedCores].
	SharedCores bool
	// Processors is how many processors all fake workers share; 0: not known, or a
	// cluster.
	Processors int
	Root       bool   // the launcher's uid is 0
	Home       string // HOME for a user who has none
	Temp       string // TMPDIR where /tmp cannot be written, or is shared with other runs
	NoPasswd   bool   // the launcher's uid has no passwd entry
	// Interface holds the launcher's address and has the same name on the
	// workers ("eth0"); "" when that is not known. Fake clusters use lo.
	Interface string
	// NoRDMA says that no worker has an RDMA device: only then may UCX be told to
	// use one network interface, because that leaves such devices out.
	NoRDMA bool
	// NoGPU says that no worker has an accelerator: only then may a library be told
	// to use CPUs.
	NoGPU   bool
	UserEnv []string // K=V, the environment that the user's command would have

	Command []string // argv of the user's command
	Below   []string // words of the launcher that the command starts; see [Below]. nil: none is known
	Procs   int      // processes that Muster starts on each worker; 0: 1
	// Port is the first of PortBlock ports that this attempt has for itself: a
	// port that is used again within a minute cannot be bound.
	Port    int
	Attempt int // number of this run of the group, from 0
	// LeastWorkers is how many workers an elastic run needs; 0: all, not elastic.
	// MostWorkers is how many it may come to have; 0: those that there are.
	LeastWorkers, MostWorkers int
	// Store is the index in Workers of the one that holds an elastic run's store: it
	// stays there when one comes that stands before it.
	Store int
}

// PortBlock is how many ports an attempt has: Port to Port+PortBlock-1.
const PortBlock = 1000

// slots returns the smallest and largest number of slots of the workers.
func (c Cluster) slots() (least, most int) {
	for i, w := range c.Workers {
		if i == 0 || w.Slots < least {
			least = w.Slots
		}
		most = max(most, w.Slots)
	}
	return least, most
}

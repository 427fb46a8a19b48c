package check

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Job is what the ranks of a job need from their workers.
type Job struct {
	Ranks     int    // of the whole job; 0: not known
	Framework string // as in --framework; "": the command runs in the launcher
	// SharesMemory says that ranks on one worker exchange data in /dev/shm.
	SharesMemory bool
	// MPI says that mpirun runs in the launcher and starts daemons on the workers. LauncherMPI is
	// the version of the MPI library there; "": not known.
	MPI         bool
	LauncherMPI string
	Packages    []string // Python packages whose versions must agree
	// Meet is the address at which the ranks of a framework meet that asks for its name; "": there
	// is none, or the framework does not ask.
	Meet  string
	Agent string // version of the launcher
}

// Worker is what is known about one worker.
type Worker struct {
	Name, Node string
	Facts      wire.FactsRecord
	// Ahead is the worker's clock minus the launcher's, known to within Doubt.
	Ahead, Doubt time.Duration
	Ranks        int    // ranks that will run there; 0: not known
	GPUs         int    // accelerators that its pod asks for
	RDMA         int    // RDMA devices that its pod asks for
	Agent        string // version of its agent
	// Fake says that the worker is a process on the launcher's machine: limits and devices are the
	// user's own, and no job in a cluster has them.
	Fake bool
}

// ranks returns how many ranks a worker has at least.
func (w Worker) ranks() int64 { return int64(max(1, w.Ranks)) }

// workerCheck judges one worker. An empty verdict says that the job does not need it.
type workerCheck struct {
	Check
	look func(j Job, w Worker) (Verdict, string)
}

var workerChecks = []workerCheck{
	{Check{"program", OfWorker, "The command exists on the worker and can be executed.", "a command that Muster starts on the workers", "install it in the workers' image, or give its path"}, program},
	{Check{"interpreter", OfWorker, "The interpreter in the first line of a script exists.", "a command that is a script", "install the interpreter in the workers' image, or correct the script's first line"}, interpreter},
	{Check{"devices", OfWorker, "The worker has as many accelerators as its pod asks for.", "/dev", "the device plugin or the driver of this node is broken: cordon the node and replace the worker"}, devices},
	{Check{"rdma", OfWorker, "The worker has as many RDMA devices as its pod asks for.", "/dev/infiniband", "the RDMA device plugin or the driver of this node is broken: cordon the node and replace the worker"}, rdma},
	{Check{"memlock", OfWorker, "A worker with RDMA devices may lock enough memory.", "an RDMA device", "raise LimitMEMLOCK of the container runtime's service, or add the capability IPC_LOCK"}, memlock},
	{Check{"shm", OfWorker, "/dev/shm is large enough for ranks that exchange data there.", "a framework that uses /dev/shm", "set spec.shm of the LaunchJob, or mount an emptyDir with medium Memory at /dev/shm"}, shm},
	{Check{"open-files", OfWorker, "A rank may open a connection to every other rank.", "the number of ranks", "raise the limit of open files of the container runtime's service (LimitNOFILE)"}, openFiles},
	{Check{"pids", OfWorker, "The container has room for the threads of its ranks.", "the container's cgroup", "raise podPidsLimit of the kubelet, or start fewer ranks on a worker"}, pids},
	{Check{"cpu", OfWorker, "The CPU limit is at least one CPU for each rank.", "the container's cgroup", "raise or drop limits.cpu of the workers, or lower the slots"}, cpu},
	{Check{"memory", OfWorker, "The container has memory left for its ranks.", "a memory limit", "raise limits.memory of the workers, or end what uses the memory"}, memory},
	{Check{"disk", OfWorker, "The working directory has free space.", "the working directory", "free space on the volume, or raise the limit of ephemeral storage"}, disk},
	{Check{"clock", OfWorker, "The worker's clock agrees with the launcher's.", "an answer from the worker", "synchronize the clock of the node (chrony, systemd-timesyncd)"}, clock},
	{Check{"names", OfWorker, "The name server answers a question about another worker's address.", "a framework that asks for names of addresses: PyTorch, DeepSpeed", "make the cluster's DNS answer for the addresses of pods (CoreDNS: no fallthrough of in-addr.arpa to a server that cannot be reached)"}, lookup},
}

// OfOne judges one worker.
func OfOne(j Job, w Worker) []Finding {
	var found []Finding
	for _, c := range workerChecks {
		verdict, text := c.look(j, w)
		if verdict == "" {
			continue
		}
		f := Finding{Check: c.Name, Of: w.Name, Node: w.Node, Verdict: verdict, Found: text}
		if verdict != OK {
			f.Worker, f.Remedy = w.Name, c.Remedy
		}
		found = append(found, f)
	}
	return found
}

// Unchecked returns the finding for a worker that could not be asked.
func Unchecked(name, node string, why error) Finding {
	return Finding{Check: "program", Of: name, Node: node, Verdict: Unknown, Found: fmt.Sprintf("the worker was not checked: %v", why), Remedy: "update the agent in the workers' image"}
}

// Unpaired returns the finding for a worker that took no part in measurements between workers.
func Unpaired(name, node string, why error) Finding {
	return Finding{Check: "connect", Of: name, Node: node, Verdict: Unknown, Found: fmt.Sprintf("its network was not checked: %v", why), Remedy: "update the agent in the workers' image"}
}

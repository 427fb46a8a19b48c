// Package framework turns a ranked cluster into what a framework's launcher
// reads: environment variables. It is pure: no file, socket or process is
// touched, the same [Cluster] gives the same [Launch].
//
// Each framework is one file with one [Framework]. [MPI] is every MPI family at
// once, because the image decides which mpirun the user's command finds and a
// name of another family is ignored: Open MPI 4 reads OMPI_MCA_*, Open MPI 5
// reads PRTE_MCA_* for its launcher and OMPI_MCA_* in its ranks (the old
// launcher names are ignored without a word and the job runs on one node with
// exit code 0), MPICH reads HYDRA_*, Intel MPI reads I_MPI_*.
//
// Commands of two kinds run on workers. A script is started Procs times on each,
// and told of its rank among all processes of the job. A launcher of its own node
// (torchrun, accelerate launch, Paddle's) is started once, and told of the workers
// and how many processes to start: the ranks are its to set. RANK never counts
// pods where WORLD_SIZE counts processes. Hosts are addresses. Ports are those of
// the attempt's block: fixed ones for meeting places, one for each process from
// the 100th up, counted for each address.
//
// [Part] says what each role's end means; [Decide] applies the user's own rule,
// [ParseRoles] reads the user's roles, [Detect] finds the framework by the command.
//
// What the user has set is never changed: [Merge] leaves our variable out and
// says so, naming both values, unless the name looks like a secret's; a search
// path is extended.
//
// Two environments exist for MPI. [Framework.Prepare] is for the launcher, where
// mpirun runs. [FakeWorker] is for the worker processes of `agent run --fake`, which
// share one machine and one /dev/shm; real workers need none.
//
// The choices were tried with Open MPI 4.1.4, 4.1.8 and 5.0.11, MPICH 4.0.2 and
// 5.0.2 and Intel MPI 2021.18.1, and with the frameworks that docs/frameworks.md
// lists; docs/mpi.md has MPI's table, [Var.Why] the reason of each variable, as `agent env --explain` prints it.
package framework

// Package framework turns a ranked cluster into the environment variables that a framework's
// launcher reads. It is pure: it touches no file, socket or process, and the same [Cluster] always
// gives the same [Launch].
//
// Each framework is one file with one [Framework]. [MPI] covers every MPI family at once, because
// the image decides which mpirun the user's command finds, and each family ignores the names of the
// others. Open MPI 4 reads OMPI_MCA_*. Open MPI 5 reads PRTE_MCA_* in its launcher and OMPI_MCA_*
// in its ranks. It silently ignores the old launcher names: the job then runs on one node and exits
// with 0. MPICH reads HYDRA_*, Intel MPI reads I_MPI_*.
//
// Two kinds of commands run on workers. A script is started Procs times on each worker, and is told
// its rank among all processes of the job. A launcher of its own node (torchrun, accelerate launch,
// Paddle's) is started once on each worker. It is told the workers and the number of processes, and
// sets the ranks itself. RANK and WORLD_SIZE always count the same things. Hosts are addresses.
// Ports come from the block of the attempt: fixed ones for meeting points, and one for each process
// from the 100th up, counted for each address.
//
// [Part] says what the end of each role means. [Decide] applies the user's own rule, [ParseRoles]
// reads the user's roles, and [Detect] finds the framework of a command.
//
// Muster never changes what the user has set. [Merge] leaves our variable out and reports both
// values, unless the name looks like a secret's. It extends search paths.
//
// Two environments exist for MPI. [Framework.Prepare] is for the launcher, where mpirun runs.
// [FakeWorker] is for the worker processes of `agent run --fake`, which share one machine and one
// /dev/shm. Real workers need none.
//
// These choices were tested with Open MPI 4.1.4, 4.1.8, 5.0.11 and 6.0.0rc2, MPICH 4.0.2, 4.2.3 and
// 5.0.2, Intel MPI 2021.18.1 and 2021.19.0, and the frameworks in docs/guides/frameworks.md. The
// table for MPI is in docs/operations/support.md.
// [Var.Why] holds the reason of each variable, which `agent env --explain` prints.
package framework

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
// What the user has set is never changed: [Merge] leaves our variable out and
// says so, naming both values, unless the name looks like a secret's.
//
// Two environments exist. [Framework.Prepare] is for the launcher, where mpirun
// runs. [FakeWorker] is for the worker processes of `agent run --fake`, which
// share one machine and one /dev/shm; real workers need none.
//
// The choices were tried with Open MPI 4.1.4, 4.1.8 and 5.0.11, MPICH 4.0.2 and
// 5.0.2 and Intel MPI 2021.18.1; docs/mpi.md has the table, [Var.Why] the reason
// of each variable, as `agent env --explain` prints it.
package framework

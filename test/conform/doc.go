// Command conform makes the conformance matrix: what each mpirun does when its
// agents, daemons, workers and ranks fail, by itself and under `agent run`.
//
// A row is an event (event.go), a column an MPI (column.go). A cell starts three
// fake workers with a rank each and a real mpirun, waits until the ranks meet,
// makes the event (event.go, too), and looks at what came out: the exit code, the
// seconds from the event to the end, the line that names the worker, and the
// processes that are left. It has a deadline of its own, and one that hangs is
// shown as such. A cell of `agent run` is at fault when it hangs or takes too
// long, when its exit code is not a true one, when nobody names the worker, or
// when a process is left; a bare mpirun's cell is shown beside it and is never at
// fault. The bare run gets the same environment, and for an agent a script that
// runs its line on this machine.
//
//	go run ./test/conform -bin bin                 all of it
//	go run ./test/conform -bin bin -quick          Debian's MPIs under agent run
//	go run ./test/conform -bin bin -columns intel -events daemon-frozen -v
//
// It needs Debian's Open MPI and MPICH, gcc, and the wheels that test/fake/mpi/deps.sh
// --conform puts into ~/.cache/muster/mpi. The whole matrix writes
// docs/explanation/mpi-conformance.md (-doc) and two figures. It runs on Linux only.
package main

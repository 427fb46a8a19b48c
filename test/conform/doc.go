// Command conform makes the conformance matrix: what each mpirun does when its agents, daemons, workers and ranks
// fail, by itself and under `agent run`.
//
// A row is an event (event.go), a column an MPI (column.go). A cell starts three fake workers with one rank each
// and a real mpirun. It waits until the ranks meet, and causes the event (event.go). It records the exit code, the
// seconds from the event to the end, the line that names the worker, and the processes that are left. Each cell has
// a deadline, and the matrix shows which cells hang.
//
// A cell under `agent run` is at fault if it hangs or takes too long, or if its exit code is wrong. It is also at
// fault if no line names the worker, or if a process is left. The cell of the bare mpirun is shown beside it and is
// never at fault. A bare run gets the same environment, and its remote agent is a script that runs its command on
// this machine.
//
//	go run ./test/conform -bin bin                 all of it
//	go run ./test/conform -bin bin -quick          Debian's MPIs under agent run
//	go run ./test/conform -bin bin -columns intel -events daemon-frozen -v
//
// It needs Debian's Open MPI and MPICH, gcc, and the MPIs that test/fake/mpi/deps.sh --conform installs in
// ~/.cache/muster/mpi. The whole matrix writes docs/explanation/mpi-conformance.md (-doc) and two figures. It runs
// on Linux only.
package main

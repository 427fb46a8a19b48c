// Package files has what a launcher writes on its own machine, and what it reads there.
//
//	place.go     the private directory of a run, and the broker's socket in it
//	files.go     hostfiles, links and scripts for launchers such as mpirun, and the plan
//	             for `agent env` and `agent hosts`
//	hostfile.go  --hostfile, which is read or written
//	shims.go     ssh, rsh and pdsh as links to the agent
//	machine.go   what a plan depends on of the machine that we are on
//
// It promises: nothing is written to /etc/mpi outside of a pod, nor by fake runs anywhere.
// A file is replaced whole, and none that is the user's. Close removes what is this run's
// alone; the next run removes what a killed one has left.
package files

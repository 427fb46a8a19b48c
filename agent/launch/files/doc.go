// Package files holds the files that a launcher writes and reads on its own machine.
//
//	place.go     the private directory of a run, with the broker's socket
//	files.go     hostfiles, links and scripts for launchers such as mpirun, and the plan
//	             for `agent env` and `agent hosts`
//	hostfile.go  --hostfile, which is read or written
//	shims.go     ssh, rsh and pdsh as links to the agent
//	machine.go   what a plan needs to know about the launcher's machine
//	ground.go    how a run in a cluster, and one over fake workers, use this machine
//
// Guarantees: only a launcher in a pod writes to /etc/mpi, and a fake run never does. Files are
// replaced atomically, and a user's file is never replaced. Close removes the files of this run
// only. The next run removes the files of a killed run.
package files

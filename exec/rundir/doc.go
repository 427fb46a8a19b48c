// Package rundir finds or creates the private directory of a role, which holds its unix socket (and
// a worker's spools), and opens sockets there.
//
// It depends only on the environment and the caller's uid. It promises that a directory that it
// returns is a real directory and no symbolic link, belongs to the caller, has mode 0700 and is
// writable. A socket that it creates has mode 0600. A socket that it finds belongs to the caller,
// as do its directory and its server. It opens directories by descriptor, so changing a path
// meanwhile does not lead elsewhere. It works with a read-only root file system and any uid: the
// last candidate is /dev/shm, which is writable in every container. That candidate is marked,
// because MPI's shared memory uses the same 64 MiB.
//
// It never changes the mode or owner of foreign files, and never follows a link. If the user named
// a directory with $MUSTER_DIR, it uses that one or fails.
package rundir

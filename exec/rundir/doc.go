// Package rundir finds and makes the private directory in which a role keeps
// its unix socket (and a worker its spools), and opens sockets there.
//
// It takes nothing but the environment and the caller's uid. It promises that a
// directory it hands out is a real one (no symbolic link), belongs to the
// caller, has mode 0700 and can be written; that a socket it makes has mode
// 0600; and that a socket it finds belongs to the caller, as do its directory and
// its server. Directories are opened by descriptor, so a path that is changed
// meanwhile does not lead elsewhere. It works with a
// read-only root file system and any uid: the last candidate is /dev/shm, which
// is writable in every container, and is marked so because MPI's shared memory
// lives in the same 64 MiB.
//
// It never changes the mode or owner of what others made, never follows a
// link, and never falls back when the user named a directory: $MUSTER_DIR is
// used or refused.
package rundir

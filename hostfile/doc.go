// Package hostfile writes and reads the host lists of MPI launchers.
//
// There are two dialects, and neither kind of launcher accepts the other:
//
//	name slots=N    Open MPI (4 and 5), DeepSpeed
//	name:N          Hydra (MPICH, Intel MPI), Horovod
//
// [OpenMPI] and [Hydra] render a list, [Parse] reads either dialect, and [Write] replaces a file so
// that a reader sees the old or the new content, never a part. The order of hosts is the order of
// ranks and is kept.
//
// Hydra splits at the first colon and has no quoting, so an IPv6 address cannot be a host there.
// [Hydra] writes it in brackets. Hydra then reports it as an error, instead of starting ranks on a
// host called "fd00".
//
// The package uses only the standard library. It resolves no names and merges no lines.
package hostfile

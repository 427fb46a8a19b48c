// Package hostfile writes and reads the host lists of MPI launchers.
//
// Two dialects exist and neither launcher accepts the other's:
//
//	name slots=N    Open MPI (4 and 5), DeepSpeed
//	name:N          Hydra (MPICH, Intel MPI), Horovod
//
// [OpenMPI] and [Hydra] render a list, [Parse] reads either dialect, [Write]
// puts the bytes on disk so that a reader sees the old file or the new one and
// never a part. The order of hosts is the order of ranks and is kept.
//
// Hydra splits at the first colon and has no quoting, so an IPv6 address cannot
// be a host there; [Hydra] writes it in brackets, which Hydra refuses by name
// in place of starting ranks on a host called "fd00".
//
// Standard library only. The package resolves no names and merges no lines.
package hostfile

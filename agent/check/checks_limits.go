package check

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// bytes returns a size as Kubernetes writes it, rounded.
func bytes(n int64) string {
	switch {
	case n >= 10*gib:
		return fmt.Sprintf("%dGi", n/gib)
	case n >= gib:
		return fmt.Sprintf("%.1fGi", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%dMi", n/mib)
	case n >= kib:
		return fmt.Sprintf("%dKi", n/kib)
	}
	return fmt.Sprintf("%d bytes", n)
}

// runtimeShm is the size of /dev/shm that container runtimes give a container without a volume
// there.
const runtimeShm = 64 * mib

// mpiShm is what a rank of MPI can need: Open MPI's segment has 4 MiB, and collectives take more.
const mpiShm = 8 * mib

func shm(j Job, w Worker) (Verdict, string) {
	s := w.Facts.Shm
	switch {
	case !j.SharesMemory || w.Fake:
		return "", ""
	case s == nil:
		return Unknown, "/dev/shm cannot be read"
	case s.Free < mib:
		return Fail, fmt.Sprintf("/dev/shm is full: %s of %s free", bytes(s.Free), bytes(s.Size))
	case j.MPI && s.Free < mpiShm*w.ranks():
		return Warn, fmt.Sprintf("/dev/shm has %s free, and MPI can need %s for %d %s", bytes(s.Free), bytes(mpiShm*w.ranks()), w.ranks(), plural(w.ranks(), "rank"))
	case !j.MPI && s.Size <= runtimeShm:
		return Warn, fmt.Sprintf("/dev/shm has %s, the runtime's default, which ranks and data loaders use up", bytes(s.Size))
	}
	return OK, fmt.Sprintf("/dev/shm has %s free of %s", bytes(s.Free), bytes(s.Size))
}

// leastMemlock is what a process with RDMA registers even if it does nothing.
const leastMemlock = 16 * mib

func memlock(_ Job, w Worker) (Verdict, string) {
	limit := w.Facts.Memlock
	switch {
	case w.RDMA == 0 && w.Facts.Devices["rdma"] == 0:
		return "", ""
	case limit == nil:
		return Unknown, "the limit of locked memory cannot be read"
	case *limit == wire.Unlimited:
		return OK, "locked memory is not limited"
	case *limit < leastMemlock:
		return Fail, fmt.Sprintf("locked memory is limited to %s, and RDMA needs at least %s", bytes(int64(*limit)), bytes(leastMemlock))
	}
	return Warn, fmt.Sprintf("locked memory is limited to %s; RDMA registers every buffer that it sends", bytes(int64(*limit)))
}

// ownFiles is how many files a rank has open besides connections to other ranks.
const ownFiles = 128

func openFiles(j Job, w Worker) (Verdict, string) {
	limit, need := w.Facts.OpenFiles, int64(ownFiles+2*j.Ranks)
	switch {
	case limit == nil:
		return Unknown, "the limit of open files cannot be read"
	case *limit != wire.Unlimited && int64(*limit) < need:
		return Warn, fmt.Sprintf("a process may open %d files, and %d ranks can need %d", *limit, j.Ranks, need)
	}
	return OK, limited(*limit, "open files")
}

func limited(limit wire.Limit, what string) string {
	if limit == wire.Unlimited {
		return what + " are not limited"
	}
	return fmt.Sprintf("%d %s", limit, what)
}

// Threads of a rank. A program in C has few. Python with PyTorch has some dozens, and more on
// machines with many processors.
const (
	fewThreads  = 4
	manyThreads = 64
)

func pids(_ Job, w Worker) (Verdict, string) {
	limit := w.Facts.Pids
	switch {
	case w.Fake:
		return "", ""
	case limit == nil:
		return Unknown, "the limit of processes cannot be read"
	case *limit == wire.Unlimited:
		return OK, "processes are not limited"
	}
	left := int64(*limit) - w.Facts.PidsUsed
	text := fmt.Sprintf("the container may have %d more processes and threads, for %d %s", left, w.ranks(), plural(w.ranks(), "rank"))
	switch {
	case left < fewThreads*w.ranks():
		return Fail, text
	case left < manyThreads*w.ranks():
		return Warn, text
	}
	return OK, text
}

func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func cpu(_ Job, w Worker) (Verdict, string) {
	limit := w.Facts.CPU
	switch {
	case w.Fake || w.Ranks == 0:
		return "", ""
	case limit == nil:
		return Unknown, "the CPU limit cannot be read"
	case *limit == wire.Unlimited:
		return OK, "CPUs are not limited"
	}
	text := fmt.Sprintf("the CPU limit is %.3g for %d %s", float64(*limit)/1000, w.ranks(), plural(w.ranks(), "rank"))
	if int64(*limit) < 1000*w.ranks() {
		return Warn, text
	}
	return OK, text
}

// leastMemory is what a rank of a program in C with MPI uses when it starts.
const leastMemory = 64 * mib

func memory(_ Job, w Worker) (Verdict, string) {
	limit := w.Facts.Memory
	switch {
	case w.Fake:
		return "", ""
	case limit == nil:
		return Unknown, "the memory limit cannot be read"
	case *limit == wire.Unlimited:
		return OK, "memory is not limited"
	}
	left := int64(*limit) - w.Facts.MemoryUsed
	text := fmt.Sprintf("%s of %s are left for %d %s", bytes(max(0, left)), bytes(int64(*limit)), w.ranks(), plural(w.ranks(), "rank"))
	if left < leastMemory*w.ranks() {
		return Warn, text
	}
	return OK, text
}

// leastDisk is little for logs and compiled kernels.
const leastDisk = 256 * mib

func disk(_ Job, w Worker) (Verdict, string) {
	d := w.Facts.Disk
	switch {
	case d == nil:
		return Unknown, "the working directory cannot be read"
	case d.Size == 0:
		return "", "" // the file system does not count space
	}
	text := fmt.Sprintf("%s has %s free", d.Path, bytes(d.Free))
	switch {
	case d.Free == 0:
		return Fail, d.Path + " is full"
	case d.Free < leastDisk:
		return Warn, text
	}
	return OK, text
}

// A clock that is wrong by warnAhead makes logs of several workers hard to read, one that is wrong
// by failAhead breaks certificates and tokens.
const (
	warnAhead = time.Second
	failAhead = 5 * time.Minute
)

func clock(_ Job, w Worker) (Verdict, string) {
	if w.Facts.NowMillis == 0 {
		return Unknown, "the worker did not tell its time"
	}
	off, way := w.Ahead, "ahead of"
	if off < 0 {
		off, way = -off, "behind"
	}
	least := off - w.Doubt // certainly at least
	text := fmt.Sprintf("the clock is %.1f s %s the launcher's", off.Seconds(), way)
	switch {
	case least > failAhead:
		return Fail, text
	case least > warnAhead:
		return Warn, text
	}
	return OK, fmt.Sprintf("the clock agrees with the launcher's to within %.1f s", (off + w.Doubt).Seconds())
}

//go:build linux

package survey

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/wire"
)

// limits reads the limits of processes, and of the container's cgroup. If only the whole pod has
// limits, the kubelet sets them for each of its containers too.
func (w Where) limits(f *wire.FactsRecord) {
	f.Memlock, f.OpenFiles = softLimit(unix.RLIMIT_MEMLOCK), softLimit(unix.RLIMIT_NOFILE)
	group := w.path("sys/fs/cgroup")
	f.Pids, f.PidsUsed = firstLimit(group, "pids.max", "pids/pids.max"), firstNumber(group, "pids.current", "pids/pids.current")
	f.Memory, f.MemoryUsed = firstLimit(group, "memory.max", "memory/memory.limit_in_bytes"), memoryUsed(group)
	f.CPU = cpuLimit(group)
}

func softLimit(resource int) *wire.Limit {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil {
		return nil
	}
	limit := wire.Unlimited
	if r.Cur < math.MaxInt64 { // RLIM_INFINITY is all ones
		limit = wire.Limit(r.Cur)
	}
	return &limit
}

// hugeMemory is what cgroup v1 shows for no limit: the largest multiple of the page size. No
// machine has half of it.
const hugeMemory = math.MaxInt64 / 2

// firstLimit reads the first of these files that exists: "max", or a number (Linux,
// admin-guide/cgroup-v2.rst).
func firstLimit(group string, files ...string) *wire.Limit {
	for _, file := range files {
		text, err := read(group + "/" + file)
		if err != nil {
			continue
		}
		return limitOf(text)
	}
	return nil
}

func limitOf(text string) *wire.Limit {
	limit := wire.Unlimited
	if text == "max" {
		return &limit
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	if n >= 0 && n < hugeMemory {
		limit = wire.Limit(n)
	}
	return &limit
}

func firstNumber(group string, files ...string) int64 {
	for _, file := range files {
		if text, err := read(group + "/" + file); err == nil {
			n, _ := strconv.ParseInt(text, 10, 64) // 0: not known
			return n
		}
	}
	return 0
}

// memoryUsed returns the memory in use without the page cache that the kernel can drop at once, as
// the kubelet counts it.
func memoryUsed(group string) int64 {
	used := firstNumber(group, "memory.current", "memory/memory.usage_in_bytes")
	for _, file := range []string{"memory.stat", "memory/memory.stat"} {
		text, err := read(group + "/" + file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == "inactive_file" || name == "total_inactive_file") {
				return max(0, used-n)
			}
		}
	}
	return used
}

// cpuLimit returns the quota of the container. cgroup v2 has "QUOTA PERIOD" in cpu.max, v1 has two
// files with -1 for no quota; all are in microseconds.
func cpuLimit(group string) *wire.Limit {
	quota, period := "", ""
	if text, err := read(group + "/cpu.max"); err == nil {
		quota, period, _ = strings.Cut(text, " ")
	} else {
		for _, dir := range []string{"/cpu", "/cpu,cpuacct"} {
			if quota, err = read(group + dir + "/cpu.cfs_quota_us"); err == nil {
				period, _ = read(group + dir + "/cpu.cfs_period_us")
				break
			}
		}
	}
	limit := wire.Unlimited
	if quota == "max" || quota == "-1" {
		return &limit
	}
	q, err := strconv.ParseInt(quota, 10, 64)
	p, perr := strconv.ParseInt(period, 10, 64)
	if err != nil || perr != nil || p <= 0 || q < 0 {
		return nil
	}
	limit = wire.Limit(q * 1000 / p)
	return &limit
}

// space returns the size of the file system at path, or nil.
func space(path string) *wire.Space {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return nil
	}
	return spaceOf(path, &s)
}

// spaceOf counts in fragments, as df does. f_bsize of a FUSE file system is the size of its transfers.
func spaceOf(path string, s *unix.Statfs_t) *wire.Space {
	unit := cmp.Or(s.Frsize, s.Bsize)
	return &wire.Space{Path: path, Size: clamp(s.Blocks, unit), Free: clamp(s.Bavail, unit), Filesystem: filesystems[s.Type]}
}

func clamp(blocks uint64, size int64) int64 {
	if size <= 0 || blocks > uint64(math.MaxInt64/size) {
		return math.MaxInt64
	}
	return int64(blocks) * size
}

var filesystems = map[int64]string{unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs"}

// mostRead is how many bytes of a file are read.
const mostRead = 8 << 10

// read returns the beginning of a regular file, without spaces at its ends.
func read(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", unix.EINVAL
	}
	var buf [mostRead]byte
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return string(bytes.TrimSpace(buf[:n])), nil
}

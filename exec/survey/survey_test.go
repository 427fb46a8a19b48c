//go:build linux

package survey

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/wire"
)

// lay makes files below a new root.
func lay(t *testing.T, files map[string]string) Where {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return Where{Root: root, Dir: root}
}

func limit(n int64) *wire.Limit { l := wire.Limit(n); return &l }

// TestLimits checks the limits of both versions of cgroups.
func TestLimits(t *testing.T) {
	for name, row := range map[string]struct {
		files        map[string]string
		cpu          *wire.Limit
		memory, pids *wire.Limit
		used, number int64
	}{
		"nothing": {files: map[string]string{"sys/x": ""}},
		"v2": {map[string]string{
			"sys/fs/cgroup/cpu.max": "150000 100000\n", "sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "500000\n",
			"sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 200000\n", "sys/fs/cgroup/pids.max": "100\n", "sys/fs/cgroup/pids.current": "7\n",
		}, limit(1500), limit(1 << 30), limit(100), 300000, 7},
		"v2 without limits": {map[string]string{"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": "max\n"}, limit(-1), limit(-1), limit(-1), 0, 0},
		"v1": {map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712", "sys/fs/cgroup/memory/memory.usage_in_bytes": "10",
			"sys/fs/cgroup/memory/memory.stat": "total_inactive_file 20", "sys/fs/cgroup/pids/pids.max": "max",
		}, limit(2000), limit(-1), limit(-1), 0, 0},
		"v1 without a quota": {map[string]string{"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}, limit(-1), nil, nil, 0, 0},
		"broken":             {map[string]string{"sys/fs/cgroup/cpu.max": "many 0", "sys/fs/cgroup/memory.max": "much", "sys/fs/cgroup/pids.max": ""}, nil, nil, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var f wire.FactsRecord
			lay(t, row.files).limits(&f)
			require.Equal(t, row.cpu, f.CPU)
			require.Equal(t, row.memory, f.Memory)
			require.Equal(t, row.pids, f.Pids)
			require.Equal(t, row.used, f.MemoryUsed)
			require.Equal(t, row.number, f.PidsUsed)
		})
	}
}

// TestOwnLimits checks the limits of this process against what the kernel says.
func TestOwnLimits(t *testing.T) {
	var r unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &r))
	f := Take(t.Context(), Where{Root: "/"}, wire.AskFactsRecord{})
	require.Equal(t, limit(int64(r.Cur)), f.OpenFiles)
	require.NotNil(t, f.Memlock)
	require.NotNil(t, f.Devices)
	require.Equal(t, "/", f.Disk.Path)
	require.Positive(t, f.Disk.Size)
	require.InDelta(t, time.Now().UnixMilli(), f.NowMillis, 5000)
	require.Empty(t, f.Versions, "versions were not asked for")
}

// TestSpace checks that sizes are those of df, also if the file system tells another size for its transfers.
func TestSpace(t *testing.T) {
	for _, s := range []unix.Statfs_t{
		{Bsize: 4096, Frsize: 4096, Blocks: 256, Bavail: 128},
		{Bsize: 1 << 20, Frsize: 4096, Blocks: 256, Bavail: 128}, // as of a bucket, by FUSE
		{Bsize: 4096, Blocks: 256, Bavail: 128},                  // as of an old kernel
	} {
		require.Equal(t, &wire.Space{Path: "/x", Size: 1 << 20, Free: 1 << 19}, spaceOf("/x", &s), s)
	}
}

// TestMissing checks that what is not there is missing, and is not 0 of something.
func TestMissing(t *testing.T) {
	f := Take(t.Context(), Where{Root: filepath.Join(t.TempDir(), "none"), Dir: "/none"}, wire.AskFactsRecord{})
	require.Nil(t, f.Shm)
	require.Nil(t, f.Disk)
	require.Nil(t, f.Devices)
	require.Nil(t, f.CPU)
	require.Nil(t, f.Memory)
	require.Nil(t, f.Pids)
}

func TestDevices(t *testing.T) {
	for name, row := range map[string]struct {
		files []string
		want  map[string]int
	}{
		"none":              {[]string{"dev/null"}, map[string]int{}},
		"control devices":   {[]string{"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia-modeset"}, map[string]int{}},
		"nvidia":            {[]string{"dev/nvidia0", "dev/nvidia1", "dev/nvidia10", "dev/nvidiactl"}, map[string]int{"nvidia": 3}},
		"amd":               {[]string{"dev/kfd", "dev/dri/renderD128", "dev/dri/renderD129", "dev/dri/card0"}, map[string]int{"amd": 2}},
		"a display":         {[]string{"dev/dri/renderD128", "dev/dri/card0"}, map[string]int{}},
		"neuron, infinband": {[]string{"dev/neuron0", "dev/infiniband/uverbs0", "dev/infiniband/uverbs1", "dev/infiniband/rdma_cm"}, map[string]int{"neuron": 1, "rdma": 2}},
		"tpu":               {[]string{"dev/accel0"}, map[string]int{"tpu": 1}},
		"gaudi":             {[]string{"dev/accel/accel0", "dev/accel/accel_controlD0"}, map[string]int{"gaudi": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, f := range row.files {
				files[f] = ""
			}
			require.Equal(t, row.want, lay(t, files).devices())
		})
	}
}

func TestVersions(t *testing.T) {
	w := lay(t, map[string]string{
		"proc/driver/nvidia/version":                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc 12\n",
		"sys/module/efa/version":                     "2.1.0g\n",
		"usr/local/lib/libmpi.so.40.30.4":            "",
		"usr/lib/x86_64-linux-gnu/libmpi.so.12.1.11": "",
		"usr/lib/x86_64-linux-gnu/libnccl.so.2":      "",
		"usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3": "",
		"usr/lib/x86_64-linux-gnu/libnccl.so.evil\n": "",
	})
	got := map[string]string{}
	w.drivers(got)
	w.libraries(got)
	require.NotEmpty(t, got["kernel"])
	delete(got, "kernel")
	require.Equal(t, map[string]string{"NVIDIA driver": "535.104.05", "EFA driver": "2.1.0g", "MPI library": "40.30.4", "NCCL": "2.18.3"}, got)
}

func TestLibraryPathComesFirst(t *testing.T) {
	w := lay(t, map[string]string{"own/libnccl.so.2.20.5": "", "usr/lib64/libnccl.so.2.18.3": ""})
	w.Env = []string{"LD_LIBRARY_PATH=relative:" + filepath.Join(w.Root, "own")}
	got := map[string]string{}
	w.libraries(got)
	require.Equal(t, map[string]string{"NCCL": "2.20.5"}, got)
}

// TestPython checks the versions of an interpreter in a virtual environment and of packages.
func TestPython(t *testing.T) {
	w := lay(t, map[string]string{
		"base/bin/python3.11": "", "venv/lib/python3.11/site-packages/torch-2.6.0+cpu.dist-info/METADATA": "",
		"base/lib/python3.11/site-packages/torch-1.0.dist-info/METADATA":            "",
		"base/lib/python3.11/site-packages/paddlepaddle_gpu-3.0.0.dist-info/RECORD": "",
	})
	require.NoError(t, os.Chmod(filepath.Join(w.Root, "base/bin/python3.11"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(w.Root, "venv/bin"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(w.Root, "base/bin/python3.11"), filepath.Join(w.Root, "venv/bin/python3")))
	w.Env = []string{"PATH=" + filepath.Join(w.Root, "venv/bin")}
	got := map[string]string{}
	w.python(got, []string{"torch", "paddlepaddle-gpu", "jax"})
	require.Equal(t, map[string]string{"Python": "3.11", "torch": "2.6.0+cpu", "paddlepaddle-gpu": "3.0.0"}, got)

	w.Env = []string{"PATH=/none"}
	got = map[string]string{}
	w.python(got, []string{"torch"})
	require.Empty(t, got)
}

func TestProgram(t *testing.T) {
	w := lay(t, map[string]string{"bin/plain": "data", "bin/script": "#!" + "/bin/sh -e\n", "bin/orphan": "#!/no/such/python3\nx", "bin/closed": "x", "bin/dir/x": ""})
	for _, name := range []string{"plain", "script", "orphan"} {
		require.NoError(t, os.Chmod(filepath.Join(w.Root, "bin", name), 0o755))
	}
	bin := filepath.Join(w.Root, "bin")
	w.Env = []string{"PATH=" + bin}
	for command, want := range map[string]wire.FactsRecord{
		"":                       {},
		"plain":                  {Program: bin + "/plain"},
		"script":                 {Program: bin + "/script", Interpreter: "/bin/sh"},
		"bin/script":             {Program: bin + "/script", Interpreter: "/bin/sh"},
		"orphan":                 {Program: bin + "/orphan", Interpreter: "/no/such/python3", InterpreterError: "/no/such/python3: no such file or directory"},
		bin + "/closed":          {ProgramError: bin + "/closed: permission denied"},
		bin + "/dir":             {ProgramError: bin + "/dir is a directory"},
		"/no/such":               {ProgramError: "/no/such: no such file or directory"},
		"absent":                 {ProgramError: "start absent: no such file or directory in PATH " + bin},
		strings.Repeat("x", 300): {ProgramError: "start " + strings.Repeat("x", 300) + ": no such file or directory in PATH " + bin},
	} {
		var f wire.FactsRecord
		w.program(&f, command)
		require.Equal(t, want, f, command)
	}
}

// TestReadsOnlyFiles checks that a FIFO or a directory in place of a file does not stop the survey.
func TestReadsOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, dir, filepath.Join(dir, "none"), "/dev/zero"} {
		_, err := read(path)
		require.Error(t, err, path)
	}
	long := filepath.Join(dir, "long")
	require.NoError(t, os.WriteFile(long, []byte(strings.Repeat("x", 3*mostRead)), 0o600))
	text, err := read(long)
	require.NoError(t, err)
	require.Len(t, text, mostRead)
}

func TestLookup(t *testing.T) {
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer silent.Close()
	server := func(dial func(context.Context) (net.Conn, error)) *net.Resolver {
		return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	}
	unanswered := server(func(context.Context) (net.Conn, error) {
		return net.DialUDP("udp", nil, silent.LocalAddr().(*net.UDPAddr))
	})
	require.Equal(t, 50*time.Millisecond, lookup(t.Context(), unanswered, "198.18.0.7", 50*time.Millisecond))

	refused := server(func(context.Context) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	require.Less(t, lookup(t.Context(), refused, "198.18.0.7", time.Minute), time.Minute, "an error is an answer")

	f := Take(t.Context(), Where{Root: "/"}, wire.AskFactsRecord{Address: "127.0.0.1"})
	require.NotNil(t, f.LookupMillis)
	require.Less(t, *f.LookupMillis, int64(wire.LongestLookup), "/etc/hosts has it")
	require.Nil(t, Take(t.Context(), Where{Root: "/"}, wire.AskFactsRecord{}).LookupMillis, "not asked")
}

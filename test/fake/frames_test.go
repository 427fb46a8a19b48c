//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/locked.c
var lockedSource []byte

// imageOf returns a PATH with only these programs, which show frames, and the programs that scripts need.
func imageOf(t *testing.T, names ...string) string {
	dir := t.TempDir()
	for _, name := range append(names, "bash", "sh", "sleep", "grep", "setpriv") {
		path, err := exec.LookPath(name)
		if name == "py-spy" && err != nil {
			path, err = exec.LookPath("/usr/local/lib/muster/py-spy/bin/py-spy")
		}
		require.NoError(t, err, "test/fake/mpi/deps.sh --test installs it")
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	return "PATH=" + dir + ":" + bin
}

// locked builds a C program that waits for a lock, and returns its path.
func locked(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "locked")
	source := program + ".c"
	require.NoError(t, os.WriteFile(source, lockedSource, 0o644))
	out, err := exec.Command("gcc", "-g", "-O0", "-pthread", "-o", program, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

const sleepsIsolated = `import os, time
def load_batch():
    %stime.sleep(1000)
print("on", flush=True)
load_batch()`

// TestFramesByTheImagesPrograms checks what a hang report shows for ranks that do not report their stacks, with
// different programs in the image.
func TestFramesByTheImagesPrograms(t *testing.T) {
	t.Parallel()
	isolated := func(before string) []string {
		return []string{"/usr/bin/python3", "-I", "-c", strings.Replace(sleepsIsolated, "%s", before, 1)}
	}
	const unprivileged = `if os.getuid() == 0: os.setgid(65534); os.setuid(65534)
    `
	for name, c := range map[string]struct {
		programs []string
		rank     []string
		says     []string
		refused  bool
	}{
		"C in a futex, eu-stack": {[]string{"eu-stack"}, []string{locked(t)}, []string{
			`(?m)^agent:   ranks 0, 1: waiting for a lock at locked\.c:9 load_batch \(locked, pid \d+; futex.*; by eu-stack\)$`,
			`(?m)^agent:     main at .*/locked\.c:\d+$`}, false},
		"Python without faulthandler, py-spy": {[]string{"py-spy", "eu-stack"}, isolated(""), []string{
			`(?m)^agent:   ranks 0, 1: sleeping at <string>:3 load_batch \(python3[0-9.]*, pid \d+; clock_nanosleep.*; by py-spy\)$`,
			`(?m)^agent:     File "<string>", line 5 in <module>$`}, false},
		"C in a futex, gdb only": {[]string{"gdb"}, []string{locked(t)}, []string{
			`(?m)^agent:   rank 0 on 127\.0\.0\.2 \(locked, pid \d+\), .*: sleeps in futex`,
			"(?m)^hint: its stack: agent stacks$"}, false},
		"C in a futex, nothing": {nil, []string{locked(t)}, []string{
			`(?m)^hint: no stack of rank 0: not Python, and the image has no eu-stack or gdb$`}, false},
		"Python without faulthandler, nothing": {nil, isolated(""), []string{
			`(?m)^hint: no stack of rank 0: no faulthandler: Python with -I, .*, and the image has no py-spy, eu-stack or gdb$`}, false},
		"another user's process": {[]string{"py-spy", "eu-stack"}, isolated(unprivileged), []string{
			`(?m)^hint: no stack of rank 0: no faulthandler: .*; py-spy: (ptrace_scope [12]: the container lacks the capability SYS_PTRACE|ptrace_scope 3|not permitted: another user's process)$`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := agentRun(t, []string{"--fake=2", "--framework=plain", "--hang-after=3s", "--hang-action=stop", "--grace=2s"}, c.rank...)
			one.env = []string{imageOf(t, c.programs...)}
			if c.refused {
				if os.Getuid() != 0 {
					t.Skip("only root can start ranks of another user")
				}
				one.argv[0] = filepath.Join(bin, "agent")
				one.argv = append([]string{"/usr/bin/setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"}, one.argv...)
			}
			o := run(t, one)
			o.wants(t, 79)
			for _, want := range c.says {
				require.Regexp(t, want, o.err)
			}
			require.Equal(t, !strings.Contains(c.says[len(c.says)-1], "hint"), !strings.Contains(o.err, "hint: "), o.err)
		})
	}
}

// TestStoppedRankHasItsLine checks that py-spy reads a stopped rank, and leaves it stopped.
func TestStoppedRankHasItsLine(t *testing.T) {
	t.Parallel()
	said, o := hungCell{transport: "plain", way: "stop", path: imageOf(t, "py-spy")}.play(t)
	require.Regexp(t, `(?m)^agent: .*; rank 1 on 127\.0\.0\.3 is not waiting: stopped, as by SIGSTOP at hung\.py:\d+ load_batch\. Look at rank 1 first\.$`, said)
	require.Regexp(t, `(?m)^agent:   rank 1 on 127\.0\.0\.3: stopped, as by SIGSTOP at hung\.py:\d+ load_batch \(.*; by py-spy\)$`, said)
	require.Len(t, o.report.Blames, 1)
}

// TestGdbOnRequest checks that `agent stacks` uses gdb too.
func TestGdbOnRequest(t *testing.T) {
	t.Parallel()
	const script = `agent rsh 127.0.0.2 %s & until agent stacks 2>&1 | grep 'by gdb'; do sleep .2; done; agent stacks >&2; kill $!; wait; exit 3`
	one := agentRun(t, []string{"--fake=1", "--grace=2s"}, "bash", "-c", strings.Replace(script, "%s", locked(t), 1))
	one.env = []string{imageOf(t, "gdb")}
	o := run(t, one)
	o.wants(t, 3)
	require.Regexp(t, `(?m): waiting for a lock at locked\.c:9 load_batch \(locked, pid \d+; futex.*; by gdb\)$`, o.err)
	require.Regexp(t, `(?m)^    load_batch at .*/locked\.c:9$`, o.err)
}

//go:embed testdata/apart.c
var apartSource []byte

// TestMPIRanksInC checks that polling MPI ranks in C are recognized as waiting. The report names the rank that does
// not wait, with its line.
func TestMPIRanksInC(t *testing.T) {
	const script = `mpirun.openmpi --oversubscribe -np 3 %s & until agent stacks 2>&1 | grep 'in MPI_Allreduce.*is not waiting'; do sleep .2; done; agent stacks >&2; kill $!; wait; exit 3`
	t.Parallel()
	program := filepath.Join(t.TempDir(), "apart")
	require.NoError(t, os.WriteFile(program+".c", apartSource, 0o644))
	out, err := exec.Command("mpicc.openmpi", "-g", "-O0", "-o", program, program+".c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	one := agentRun(t, []string{"--fake=3", "--grace=2s"}, "bash", "-c", strings.Replace(script, "%s", program, 1))
	one.env = []string{imageOf(t, "eu-stack") + ":" + os.Getenv("PATH")}
	o := run(t, one)
	o.wants(t, 3)
	require.Regexp(t, `(?m)^ranks 0, 2 are waiting in MPI_Allreduce at apart\.c:14 step; rank 1 on 127\.0\.0\.3 is not waiting: sleeping at apart\.c:8 load_batch$`, o.err)
	require.Regexp(t, `(?m)^  ranks 0, 2: waiting in MPI_Allreduce at apart\.c:14 step \(apart, `, o.err)
}

// recordsFlights is a stand-in for hanging PyTorch ranks with NCCL: it creates its pipe as ProcessGroupNCCL does,
// and dumps when something is written to the pipe.
const recordsFlights = `import os, time
pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + os.environ["RANK"] + ".pipe"
os.mkfifo(pipe)
fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
print("on", flush=True)
while True:
    time.sleep(1)
    if os.read(fd, 128):
        open(os.environ["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] + os.environ["RANK"], "wb").write(b"x" * 12345)`

// TestFlightRecorders checks that a hang report names the ranks' flight recorder dumps.
func TestFlightRecorders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := run(t, agentRun(t, []string{"--fake=2", "--framework=torch", "--hang-after=3s", "--hang-action=stop", "--grace=2s",
		"--env=TORCH_NCCL_DEBUG_INFO_PIPE_FILE=" + dir + "/fr", "--env=TORCH_NCCL_DEBUG_INFO_TEMP_FILE=" + dir + "/trace_"}, "/usr/bin/python3", "-c", recordsFlights))
	o.wants(t, 79)
	for n, worker := range []string{"127.0.0.2", "127.0.0.3"} {
		path := fmt.Sprintf("%s/trace_%d", dir, n)
		require.Contains(t, o.err, fmt.Sprintf("agent:   flight recorder: %s on %s (12 kB)\n", path, worker))
		require.FileExists(t, path)
	}
}

// answersAsNCCL is a stand-in for hanging ranks with NCCL. Rank 0 has its RAS service.
const answersAsNCCL = `import mmap, os, socket, time
with open(os.environ["LIBRARY"] + os.environ["RANK"] + "/libnccl.so.2", "w+b") as f:
    f.write(b"x"); f.flush()
    library = mmap.mmap(f.fileno(), 1)
print("on", flush=True)
if os.environ["RANK"] != "0": time.sleep(1000)
host, port = os.environ["NCCL_RAS_ADDR"].split(":")
s = socket.create_server((host, int(port)))
while True:
    c, _ = s.accept()
    lines = c.makefile("rw")
    for question, answer in (("CLIENT PROTOCOL 2\n", "SERVER PROTOCOL 2\n"), ("TIMEOUT 1\n", "OK\n"), ("STATUS\n", "Job summary\n===========\n\n  1 rank is behind\n")):
        assert lines.readline() == question
        lines.write(answer); lines.flush()
    lines.close(); c.close()`

// TestNCCLStatus checks that a hang report has NCCL's status of the job once.
func TestNCCLStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := "127.0.0.1:" + strconv.Itoa(freePort(t))
	for n := range 2 {
		require.NoError(t, os.Mkdir(fmt.Sprintf("%s/%d", dir, n), 0o755))
	}
	o := run(t, agentRun(t, []string{"--fake=2", "--framework=torch", "--hang-after=3s", "--hang-action=stop", "--grace=2s",
		"--env=NCCL_RAS_ADDR=" + at, "--env=LIBRARY=" + dir + "/"}, "/usr/bin/python3", "-c", answersAsNCCL))
	o.wants(t, 79)
	require.Contains(t, o.err, "agent:   NCCL's RAS service on 127.0.0.2 says:\nagent:     Job summary\nagent:     ===========\nagent:       1 rank is behind\n")
	require.Equal(t, 1, strings.Count(o.err, "RAS service"))
}

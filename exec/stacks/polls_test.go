//go:build linux

package stacks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestMPICallIn checks lines that only call MPI, and lines that may also do something else.
func TestMPICallIn(t *testing.T) {
	for line, want := range map[string]string{
		"comm.Recv(buf, source=left)":                                   "Recv",
		"self.comm.Barrier()":                                           "Barrier",
		"x = comm.recv(source=0, tag=7)  # from f(x)":                   "recv",
		"comm.Sendrecv(a, dest=(rank + 1) % size, recvbuf=b)":           "Sendrecv",
		"total = MPI.COMM_WORLD.allreduce(x, op=MPI.SUM)":               "allreduce",
		"world.Allreduce([a, MPI.DOUBLE], [b, MPI.DOUBLE], op=MPI.SUM)": "Allreduce",
		"MPI.Request.Waitall(reqs)":                                     "Waitall",
		"reqs[0].wait()":                                                "wait",
		"comms[1].bcast(":                                               "bcast",
		"comm.Bcast(x, root=comm.Get_size() - 1)":                       "Bcast",
		"comm.Allreduce(a @ b, c)":                                      "",
		"comm.allreduce(np.linalg.det(a))":                              "",
		"comm.allreduce(f (a))":                                         "",
		"comm.bcast([g for g in x])":                                    "",
		"solve(a); comm.Barrier()":                                      "",
		"y = a @ b; comm.Barrier()":                                     "",
		"np.add.reduce(x)":                                              "",
		"torch.distributed.barrier()":                                   "",
		"socket.recv(5)":                                                "",
		"process.wait()":                                                "",
		"np.linalg.eigh(a)":                                             "",
		"while not req.Test():":                                         "",
		"Barrier()":                                                     "",
		"x = a @ b":                                                     "",
		"x += 1":                                                        "",
		"":                                                              "",
	} {
		require.Equal(t, want, mpiCallIn(line), line)
	}
}

// TestMPICall checks that MPICall uses the innermost line of the first thread, in a readable file.
func TestMPICall(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "solve.py")
	require.NoError(t, os.WriteFile(source, []byte("import x\ncomm.Recv(\n    a @ b)\n"+strings.Repeat("#", 1000)+"\n"), 0o600))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo.py"), 0o600))
	at := func(file string, line int) string {
		return fmt.Sprintf("Thread 0x2 (most recent call first):\n  File \"/x.py\", line 1 in f\n\nCurrent thread 0x1 (most recent call first):\n  File %q, line %d in exchange\n  File \"/x.py\", line 2 in g\n", file, line)
	}
	for text, want := range map[string]string{
		at(source, 2):                        "Recv",
		at(source, 3):                        "",
		at(source, 4):                        "",
		at(source, 9):                        "",
		at(filepath.Join(dir, "fifo.py"), 1): "",
		at(filepath.Join(dir, "none.py"), 1): "",
		at("/dev/zero", 1):                   "",
		at("<string>", 2):                    "",
		"":                                   "",
		"Current thread 0x1 (most recent call first):":                               "",
		at(source, 2) + strings.Repeat("x", MostText):                                "",
		strings.Repeat("Thread 0x2 (most recent call first):\n", 99) + at(source, 2): "",
	} {
		require.Equal(t, want, MPICall(t.Context(), os.Getpid(), []byte(text)), "%.200q", text)
	}
	t.Chdir(dir)
	require.Equal(t, "Recv", MPICall(t.Context(), os.Getpid(), []byte(at("solve.py", 2))))
	over, stop := context.WithCancel(t.Context())
	stop()
	require.Empty(t, MPICall(over, 1<<22+1, []byte(at(source, 2))))
}

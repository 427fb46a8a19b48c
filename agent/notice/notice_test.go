package notice

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// read writes text in pieces of size bytes and returns the ends that were found.
func read(text string, size int) []End {
	r := NewReader(func() time.Time { return noon })
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		_, _ = r.Write(rest[:n])
		rest = rest[n:]
	}
	_ = r.Close()
	return r.Ends()
}

const (
	rule    = "--------------------------------------------------------------------------\n"
	primary = rule + "Primary job  terminated normally, but 1 process returned\n" +
		"a non-zero exit code. Per user-direction, the job has been aborted.\n" + rule
	openMPI4Code = "last words of 1\n" + primary + rule +
		"mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing\n" +
		"the job to be terminated. The first process to do so was:\n\n" +
		"  Process name: [[30019,1],1]\n  Exit code:    3\n" + rule
	openMPI4Signal = primary + rule +
		"mpirun.openmpi noticed that process rank 1 with PID 6676 on node 127.0.0.3 exited on signal 11 (Segmentation fault).\n" + rule
	openMPI4Early = rule + "mpirun.openmpi has exited due to process rank 1 with PID 4233 on\n" +
		"node 127.0.0.3 exiting improperly. There are three reasons this could occur:\n\n" +
		"1. this process did not call \"init\" before exiting, but others in\nthe job did.\n"
	openMPI5Code = rule + "prterun detected that one or more processes exited with non-zero status,\n" +
		"thus causing the job to be terminated. The first process to do so was:\n\n" +
		"   Process name: [prterun-vm-6749@1,12]\n   Exit code:    3\n" + rule
	openMPI5Signal = rule + "prterun noticed that process rank 1 with PID 6819 on node vm exited on\nsignal 11 (Segmentation fault).\n" + rule
	double         = "===================================================================================\n"
	mpich          = "\n" + double + "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 27498 RUNNING AT 127.0.0.3\n" +
		"=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" + double
	intel = "\n" + double + "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 1 PID 8077 RUNNING AT 127.0.0.3\n" +
		"=   KILLED BY SIGNAL: 11 (Segmentation fault)\n" + double
)

func TestReader(t *testing.T) {
	signal := func(pid int, host string) End {
		return End{Rank: 1, PID: pid, Host: host, Code: 139, Signal: 11, At: noon}
	}
	ofIntel := End{Rank: 1, PID: 8077, Host: "127.0.0.3", Code: 139, Signal: 11, Hydra: true, At: noon}
	for name, tc := range map[string]struct {
		text string
		want []End
	}{
		"nothing":                      {"", nil},
		"output":                       {strings.Repeat("step 12 of 1000, loss 0.3\n", 3000), nil},
		"Open MPI 4, a code":           {openMPI4Code, []End{{Rank: 1, Code: 3, At: noon}}},
		"Open MPI 4, a signal":         {openMPI4Signal, []End{signal(6676, "127.0.0.3")}},
		"Open MPI 4, without finalize": {openMPI4Early, []End{{Rank: 1, PID: 4233, Host: "127.0.0.3", At: noon}}},
		"Open MPI 5, a code":           {openMPI5Code, []End{{Rank: 12, Code: 3, At: noon}}},
		"Open MPI 5, a signal":         {openMPI5Signal, []End{signal(6819, "vm")}},
		"MPICH, only the host":         {mpich, []End{{Rank: -1, Host: "127.0.0.3", Hydra: true, At: noon}}},
		"Intel MPI, a signal":          {intel, []End{ofIntel}},
		"several":                      {openMPI4Signal + "output\n" + intel, []End{signal(6676, "127.0.0.3"), ofIntel}},
		"no newline at the end":        {strings.TrimRight("x\nmpirun noticed that process rank 1 with PID 6676 on node 127.0.0.3 exited on signal 11", "\n"), []End{signal(6676, "127.0.0.3")}},
		"CRLF lines":                   {strings.ReplaceAll(openMPI5Signal, "\n", "\r\n"), []End{signal(6819, "vm")}},
		"tags of Open MPI 4":           {tagged(openMPI5Signal, "[1,0]<stderr>:"), []End{signal(6819, "vm")}},
		"tags of Open MPI 5":           {tagged(openMPI5Code, "[prterun-vm-7@1,0]<stderr>: "), []End{{Rank: 12, Code: 3, At: noon}}},
		"tags of Hydra":                {tagged(intel, "[0] "), []End{ofIntel}},
		"colors":                       {tagged(openMPI4Signal, "\x1b[1;31m"), []End{signal(6676, "127.0.0.3")}},
		"cut off":                      {openMPI5Signal[:len(rule)+60], nil},
		"too far apart":                {"prterun noticed that process rank 1 with PID 6819 on node vm\n" + strings.Repeat("output\n", 20) + "exited on signal 11\n", nil},
		"other words between":          {"prterun noticed that process rank 1 with PID 6819\n" + intel, []End{ofIntel}},
		"a rank that is too large":     {"mpirun noticed that process rank 99999999999999999999 with PID 1 on node a exited on signal 11\n", nil},
		"an invalid signal":            {"mpirun noticed that process rank 1 with PID 1 on node a exited on signal 1111\n", nil},
		"an invalid exit code":         {"detected that one or more processes\nProcess name: [a,1]\nExit code: 4711\n", nil},
		"after a long line":            {strings.Repeat("x", 100_000) + "noticed that process\n" + openMPI5Signal, []End{signal(6819, "vm")}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 64, 1 << 20} {
				require.Equal(t, tc.want, read(tc.text, size), "in pieces of %d bytes", size)
			}
		})
	}
}

// tagged returns the text with a tag before each line.
func tagged(text, tag string) string {
	return tag + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+tag) + "\n"
}

func TestTheReaderIsBounded(t *testing.T) {
	r := NewReader(time.Now)
	for range 1000 {
		_, _ = r.Write([]byte(intel))
	}
	require.Len(t, r.Ends(), endsMost)
	for range 1000 {
		_, _ = r.Write([]byte(strings.Repeat("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES ", 1000)))
	}
	require.LessOrEqual(t, cap(r.line), 2*lineMost)
}

// FuzzReader checks that the Reader accepts any output of a rank, in any pieces. The ends that it
// finds are in range and do not depend on the pieces.
func FuzzReader(f *testing.F) {
	for _, text := range []string{openMPI4Code, openMPI4Signal, openMPI4Early, openMPI5Code, openMPI5Signal, mpich, intel, tagged(intel, "[0] ")} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		ends := read(text, 1<<20)
		require.Equal(t, ends, read(text, max(1, size)))
		require.LessOrEqual(t, len(ends), endsMost)
		for _, e := range ends {
			require.GreaterOrEqual(t, e.Rank, -1)
			require.True(t, e.Code >= 0 && e.Code <= 255 && e.Signal >= 0 && e.Signal <= 64 && e.PID >= 0)
			require.LessOrEqual(t, len(e.Host), textMost+lineMost)
			require.NotContains(t, e.Host, "\n")
		}
	})
}

//go:build speed

package join

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/lab/bench/report"
)

const (
	megabyte = 1e6
	farmSize = 500 // members in one process
)

func TestMain(m *testing.M) {
	if config := os.Getenv(farmVariable); config != "" {
		if err := farm(config); err != nil {
			fmt.Println("farm:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestJoin lets the members of a job meet, for each of SIZES, and saves the table "join".
func TestJoin(t *testing.T) {
	table := report.Table{
		Name: "join", Title: "Members that meet without a launcher", Order: 63, Over: "members", Command: "make bench-join", Drawn: []int{0, 1, 2},
		Columns: []report.Column{{Name: "last rank is told to start", Unit: "s"}, {Name: "rank 0's memory at its peak", Unit: "MB"}, {Name: "rank 0's CPU", Unit: "s"}},
		Notes: []string{fmt.Sprintf("from the moment at which all members begin to connect; all of them share one machine of %d cores", runtime.NumCPU()),
			fmt.Sprintf("rank 0 is bin/agent; the others are real members of the barrier, %d in a process, and start no program", farmSize)},
	}
	for size := range strings.SplitSeq(os.Getenv("SIZES"), ",") {
		n, err := strconv.Atoi(size)
		require.NoError(t, err, "SIZES=1000,10000")
		t.Run(size, func(t *testing.T) {
			took, most, cpu := meet(t, n)
			t.Logf("%d members: %.2f s until the last rank was told to start; rank 0: %.0f MB at most, %.1f s of CPU", n, took.Seconds(), float64(most)/megabyte, cpu.Seconds())
			table.Rows = append(table.Rows, report.Row{Name: "agent join", Size: n, Cells: [][]float64{{took.Seconds()}, {float64(most) / megabyte}, {cpu.Seconds()}}})
		})
	}
	require.NoError(t, report.Save(table))
}

// meet plays one job of n members. It returns how long it took to the start of the last rank, and the
// most resident memory in bytes and the processor time of rank 0.
func meet(t *testing.T, n int) (took time.Duration, most uint64, cpu time.Duration) {
	dir, err := os.MkdirTemp("", "join") // with the mode that the agent wants
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	var farms []*farmer
	for first := 1; first < n; first += farmSize {
		farms = append(farms, start(t, fmt.Sprintf("%s %d %d %d", address, n, first, min(farmSize, n-first))))
	}
	for _, f := range farms {
		require.Equal(t, "ready", f.says())
	}
	var said bytes.Buffer
	zero := exec.Command(filepath.Join(os.Getenv("MUSTER_BIN"), "agent"), "join", "--coordinator="+address, "--workers="+strconv.Itoa(n), "--rank=0",
		"--framework=plain", "--", "sh", "-c", "echo begun")
	zero.Env = append(os.Environ(), names.EnvDir+"="+dir, names.EnvToken+"="+token, names.EnvPodName+"=train-0", "MUSTER_TERMINATION_LOG="+filepath.Join(dir, "log"))
	zero.Stdout, zero.Stderr = &said, &said
	require.NoError(t, zero.Start())
	t.Cleanup(func() { _ = zero.Process.Kill() })
	require.Eventually(t, func() bool { return listens(address) }, 10*time.Second, 10*time.Millisecond, "rank 0 does not listen")
	began := time.Now()
	for _, f := range farms {
		_, err := io.WriteString(f.stdin, "go\n")
		require.NoError(t, err)
	}
	for _, f := range farms {
		require.Equal(t, "told", f.says(), said.String())
	}
	took = time.Since(began)
	for _, f := range farms {
		require.Equal(t, "over", f.says(), said.String())
	}
	require.NoError(t, zero.Wait(), said.String())
	require.Equal(t, 1, strings.Count("\n"+said.String(), "\nbegun\n"), said.String())
	usage := zero.ProcessState.SysUsage().(*syscall.Rusage)
	return took, uint64(usage.Maxrss) << 10, time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// farmer is a farm.
type farmer struct {
	stdin io.Writer
	lines *bufio.Scanner
}

func (f *farmer) says() string {
	f.lines.Scan()
	return f.lines.Text()
}

func start(t *testing.T, config string) *farmer {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), farmVariable+"="+config, "GOMAXPROCS=1", "GOGC=50")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &farmer{stdin, bufio.NewScanner(stdout)}
}

//go:build linux

package reap

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestParseCall(t *testing.T) {
	for text, want := range map[string]int{
		"running\n": -1, "": -1, "-1 0x7ffd 0x7f12\n": -1, "x 1": -1, "99999999999999999999 0x0": -1,
		"0 0x3 0x55 0x400 0x0 0x0 0x0 0x7ffd 0x7f12\n": 0,
		"45 0x5 0x7f 0x1 0x0 0x0 0x0 0x7ffe 0x7f3a\n":  45,
	} {
		require.Equal(t, want, parseCall([]byte(text)), "%q", text)
	}
}

func TestParseWaiting(t *testing.T) {
	for text, want := range map[string]string{
		"0": "", "": "", "futex_wait_queue": "futex_wait_queue", "tcp_recvmsg_locked\n": "tcp_recvmsg_locked",
		"two words": "", "a\x1b[31m": "", strings.Repeat("x", 65): "",
	} {
		require.Equal(t, want, parseWaiting([]byte(text)), "%q", text)
	}
}

func TestParseMoved(t *testing.T) {
	const whole = "rchar: 4292\nwchar: 17\nsyscr: 13\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
	read, written, ok := parseMoved([]byte(whole))
	require.True(t, ok)
	require.EqualValues(t, []uint64{4292, 17}, []uint64{read, written})
	for _, text := range []string{"", "rchar: 1\n", "rchar: 1\nwchar: x\n", "wchar: 1\nwchar\n"} {
		_, _, ok := parseMoved([]byte(text))
		require.False(t, ok, "%q", text)
	}
}

func FuzzDoing(f *testing.F) {
	f.Add([]byte("45 0x5 0x7f 0x1 0x0 0x0 0x0 0x7ffe 0x7f3a\n"))
	f.Add([]byte("rchar: 4292\nwchar: 17\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		require.GreaterOrEqual(t, parseCall(text), -1)
		require.LessOrEqual(t, len(parseWaiting(text)), longestWaiting)
		parseMoved(text)
	})
}

func TestNames(t *testing.T) {
	require.Empty(t, nameOf(-1))
	require.Equal(t, "recvfrom", nameOf(unix.SYS_RECVFROM))
	require.Equal(t, "syscall 99999", nameOf(99999))
}

// TestLook checks a child that reads, one that computes, and a pid without a process.
func TestLook(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cat.Start())
	defer func() {
		in.Close()
		require.NoError(t, cat.Wait())
	}()
	require.Eventually(t, func() bool { return Look(cat.Process.Pid).Call == "read" }, 5*time.Second, 10*time.Millisecond)
	d := Look(cat.Process.Pid)
	require.False(t, d.Refused)
	require.EqualValues(t, unix.SYS_READ, d.Number)
	require.True(t, d.Counted)
	require.NotZero(t, d.Read, "the child has read its libraries")

	require.True(t, Look(1<<22+1).Refused, "no such process")

	spin := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, spin.Start())
	defer func() {
		require.NoError(t, spin.Process.Kill())
		require.Error(t, spin.Wait())
	}()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(spin.Process.Pid) + "/stat")
		if err != nil {
			return false
		}
		p, err := parseStat(text)
		return err == nil && p.Ticks >= 5
	}, 20*time.Second, 10*time.Millisecond)
	require.NotEqual(t, "read", Look(spin.Process.Pid).Call)
}

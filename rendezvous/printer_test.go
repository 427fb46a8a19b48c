package rendezvous_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/rendezvous"
)

// twoPods returns a board with a running worker, and a worker whose image does not exist.
func twoPods(t *testing.T) *rendezvous.Board {
	b := rendezvous.New(2, 0)
	running, pull := shape(t, "running-ready"), shape(t, "pull-not-found")
	running.Name, running.UID = "w-0", "u-w-0"
	b.SetPods(rendezvous.Snapshot{Pods: []*corev1.Pod{running, pull}, At: noon})
	b.SetLink("u-w-0", rendezvous.LinkState{Ready: true})
	return b
}

func TestPrinterOnATerminalKeepsOneLine(t *testing.T) {
	var out bytes.Buffer
	p := &rendezvous.Printer{Out: &out, TTY: true, Width: func() int { return 30 }}
	b := twoPods(t)
	p.Show(b.Tick(noon), noon)
	p.Show(b.Tick(noon.Add(time.Second)), noon.Add(time.Second))
	p.Finish(b.Tick(noon.Add(2*time.Second)), noon.Add(2*time.Second))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 4, "want the sentence, the hint, the final live line and an empty rest: %q", lines)
	require.Equal(t, "w-3: the image repo/img:tag of container worker cannot be pulled: not found", lines[0])
	require.Contains(t, lines[1], "hint: ")
	live := strings.Split(lines[2], "\r\x1b[K")
	require.Equal(t, []string{"", "1/2 ready, 0s; w-3 ImagePu...", "1/2 ready, 1s; w-3 ImagePu...", "1/2 ready, 2s; w-3 ImagePu..."}, live)
	for _, line := range live {
		require.Less(t, len(line), 30, "a line that wraps cannot be overwritten")
	}
}

func TestPrinterColorsOnlyTheCount(t *testing.T) {
	var out bytes.Buffer
	p := &rendezvous.Printer{Out: &out, TTY: true, Color: true}
	p.Show(twoPods(t).Tick(noon), noon)
	require.Contains(t, out.String(), "\x1b[33m1/2 ready, 0s\x1b[0m; w-3 ImagePullBackOff: repo/img:tag not found")
}

func TestPrinterOnAPipeIsPlainAndNotFlooded(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer f.Close()
	p := rendezvous.NewPrinter(f, "auto")
	require.False(t, p.TTY)
	require.False(t, p.Color)

	// A thousand workers start within ten seconds.
	b := rendezvous.New(1000, 0)
	var pods []*corev1.Pod
	for i := range 1000 {
		pod := shape(t, "running-ready")
		pod.Name, pod.UID = fmt.Sprintf("w-%d", i), types.UID(fmt.Sprint("u-", i))
		pods = append(pods, pod)
	}
	b.SetPods(rendezvous.Snapshot{Pods: pods, At: noon})
	now := noon
	for i := range 1000 {
		now = now.Add(10 * time.Millisecond)
		b.SetLink(fmt.Sprint("u-", i), rendezvous.LinkState{Ready: true})
		if i%20 == 0 {
			p.Show(b.Tick(now), now)
		}
	}
	p.Finish(b.Tick(now), now)
	data, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.LessOrEqual(t, len(lines), 12)
	require.Equal(t, "1000/1000 ready, 9s", lines[len(lines)-1])
	require.NotContains(t, string(data), "\x1b")
}

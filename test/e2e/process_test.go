//go:build e2e

package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// process is a process of a pod's first container, seen from this machine: the nodes of test/lab/cluster are
// namespaces of this machine.
type process struct {
	pid   int    // on this machine
	inner int    // in its container
	argv  string // arguments, joined by spaces
}

// isAttach reports whether the process is the bridge of a link.
func (p process) isAttach() bool {
	words := strings.Fields(p.argv)
	return len(words) > 1 && filepath.Base(words[0]) == "agent" && words[1] == "attach"
}

// containerID returns the plain id of a pod's first container.
func containerID(pod corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	return id
}

// processesOf returns the living processes of the pods' first containers, by pod. Zombies are not included.
func processesOf(t *testing.T, pods []corev1.Pod) map[string][]process {
	t.Helper()
	byID := map[string]string{}
	for _, pod := range pods {
		if id := containerID(pod); id != "" {
			byID[id] = pod.Name
		}
	}
	all, err := procfs.AllProcs()
	require.NoError(t, err)
	found := map[string][]process{}
	for _, p := range all {
		groups, err := p.Cgroups()
		if err != nil || len(groups) == 0 {
			continue // it has ended
		}
		pod, ours := byID[filepath.Base(groups[0].Path)]
		if !ours {
			continue
		}
		stat, err := p.Stat()
		status, serr := p.NewStatus()
		if err != nil || serr != nil || stat.State == "Z" {
			continue
		}
		argv, _ := p.CmdLine()
		found[pod] = append(found[pod], process{pid: p.PID, inner: int(status.NSpids[len(status.NSpids)-1]), argv: strings.Join(argv, " ")})
	}
	return found
}

// killFirst kills PID 1 of the pods' first containers from the node, all at the same time.
func killFirst(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	killed := 0
	for _, list := range processesOf(t, pods) {
		for _, p := range list {
			if p.inner == 1 {
				require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
				killed++
			}
		}
	}
	require.Equal(t, len(pods), killed, "number of PID 1s found")
}

// left returns the processes in the pods' containers besides PID 1, including bridges of links. It polls until
// there is none, or the time limit is reached.
func left(t *testing.T, pods []corev1.Pod, limit time.Duration) (words []string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		words = nil
		for pod, list := range processesOf(t, pods) {
			for _, p := range list {
				if p.inner != 1 {
					words = append(words, pod+": "+p.argv)
				}
			}
		}
		if len(words) == 0 || time.Now().After(deadline) {
			return words
		}
	}
}

var numberedLine = regexp.MustCompile(`(?m)^(?:(\S+Z) )?line (\d+) (\d+)$`)

var numberedTotal = regexp.MustCompile(`(?m)^total (\d+) (\d+)$`)

// numbered is the result of ranks that wrote "line RANK NUMBER", from 0 on.
type numbered struct {
	lines, wrong int               // expected lines; lines that are lost, doubled, or changed
	begun        map[int]time.Time // each rank's first line, if the log has times
}

// countNumbered compares the lines in log with the expected ones: perRank lines, or, if that is 0, the number that
// each rank reports with "total RANK LINES". With --timestamps, log has the kubelet's time before each line.
func countNumbered(log string, ranks, perRank int) numbered {
	n := numbered{begun: map[int]time.Time{}}
	seen := map[[2]int]int{}
	for _, m := range numberedLine.FindAllStringSubmatch(log, -1) {
		rank, _ := strconv.Atoi(m[2]) // digits, by the expression
		i, _ := strconv.Atoi(m[3])
		seen[[2]int{rank, i}]++
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if i == 0 && err == nil {
			n.begun[rank] = at
		}
	}
	totals := map[int]int{}
	for _, m := range numberedTotal.FindAllStringSubmatch(log, -1) {
		rank, _ := strconv.Atoi(m[1])
		totals[rank], _ = strconv.Atoi(m[2])
	}
	for rank := range ranks {
		want := perRank
		if want == 0 {
			want = totals[rank]
		}
		if want == 0 {
			n.wrong++ // the rank never reported a total
		}
		n.lines += want
		for i := range want {
			if seen[[2]int{rank, i}] != 1 {
				n.wrong++
			}
			delete(seen, [2]int{rank, i})
		}
	}
	n.wrong += len(seen)
	return n
}

// rawLoad describes testdata/sessions.py: a raw session of `agent rsh` to each worker, with numbered lines at the
// same pace in both directions.
type rawLoad struct {
	seconds, beat float64
	lines         int // each beat
}

// command returns the launcher's command.
func (l rawLoad) command(t *testing.T, j job) []string {
	t.Helper()
	script, err := os.ReadFile("testdata/sessions.py")
	require.NoError(t, err)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	command := []string{"python3", "-c", string(script), number(l.seconds), number(l.beat), strconv.Itoa(l.lines)}
	for i := range j.workers {
		command = append(command, j.workerName(i))
	}
	return command
}

// total returns how many lines a session has in each direction.
func (l rawLoad) total() int { return int(math.Round(l.seconds/l.beat)) * l.lines }

// rawSession is what the script prints for a session.
type rawSession struct {
	Host     string `json:"host"`
	Code     int    `json:"code"`
	Sent     int    `json:"sent"`
	Received int    `json:"received"`
	Wrong    int    `json:"wrong"`
	SentSum  string `json:"sent_sum"`
	Arrived  string `json:"arrived_sum"`
	Written  string `json:"written_sum"`
	Got      string `json:"received_sum"`
	Arrive   int    `json:"arrived"`
	Wrote    int    `json:"written"`
	Said     string `json:"said"`
}

// sessions returns what the script printed.
func (l rawLoad) sessions(t *testing.T, log string) []rawSession {
	t.Helper()
	var all []rawSession
	for line := range strings.Lines(log) {
		if text, ok := strings.CutPrefix(line, "session "); ok {
			var one rawSession
			require.NoError(t, json.Unmarshal([]byte(text), &one))
			all = append(all, one)
		}
	}
	return all
}

// wrong returns the number of lines that were lost, doubled or changed, according to their numbers and both ends'
// SHA-256.
func (l rawLoad) wrong(t *testing.T, sessions []rawSession) (wrong, lines int) {
	t.Helper()
	for _, one := range sessions {
		lines += one.Wrote + one.Sent
		wrong += one.Wrong + abs(one.Received-one.Wrote) + abs(one.Sent-one.Arrive)
		if one.SentSum != one.Arrived || one.Written != one.Got {
			wrong++
			t.Errorf("%s: received bytes differ from the sent ones: %+v", one.Host, one)
		}
	}
	return wrong, lines
}

func abs(n int) int { return max(n, -n) }

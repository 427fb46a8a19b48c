//go:build e2e

package e2e

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var numberedLine = regexp.MustCompile(`(?m)^(?:(\S+Z) )?line (\d+) (\d+)$`)

var numberedTotal = regexp.MustCompile(`(?m)^total (\d+) (\d+)$`)

// numbered is what came of ranks that wrote "line RANK NUMBER", from 0 on.
type numbered struct {
	lines, wrong int               // expected; lost, doubled, or not as they should be
	begun        map[int]time.Time // each rank's first line, where log has times
}

// countNumbered compares the lines in log with what was written: perRank lines,
// or, where that is 0, what each rank says itself by "total RANK LINES". With --timestamps
// log has the kubelet's time in front of each line.
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
			n.wrong++ // it never said how many
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

// rawLoad is testdata/sessions.py: a raw session of `agent rsh` to each worker,
// with numbered lines both ways at the same pace.
type rawLoad struct {
	seconds, beat float64
	lines         int // each beat
}

// command is what the launcher runs.
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

// total is how many lines a session has, each way.
func (l rawLoad) total() int { return int(math.Round(l.seconds/l.beat)) * l.lines }

// rawSession is what the script prints of a session.
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

// sessions reads what the script printed.
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

// wrong counts lines that were lost, doubled or changed, by their numbers and
// by both ends' SHA-256.
func (l rawLoad) wrong(t *testing.T, sessions []rawSession) (wrong, lines int) {
	t.Helper()
	for _, one := range sessions {
		lines += one.Wrote + one.Sent
		wrong += one.Wrong + abs(one.Received-one.Wrote) + abs(one.Sent-one.Arrive)
		if one.SentSum != one.Arrived || one.Written != one.Got {
			wrong++
			t.Errorf("%s: what arrived is not what was sent: %+v", one.Host, one)
		}
	}
	return wrong, lines
}

func abs(n int) int { return max(n, -n) }

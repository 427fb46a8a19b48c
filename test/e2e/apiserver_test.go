//go:build e2e

package e2e

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/test/suite/figure"
)

const (
	outageWorkers = 20
	outageSlots   = 2
	// outagePause is the number of seconds between the API server's kill -9 and its next start.
	outagePause = "3"
)

// outageRanks returns what each rank runs: an MPI program, then numbered lines.
func outageRanks(lines int) string {
	return fmt.Sprintf(`r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; /opt/muster-test/hello || exit; i=0; `+
		`while [ $i -lt %d ]; do echo "line $r $i"; i=$((i+1)); sleep 0.25; done`, lines)
}

// outage is the result of one outage of the API server while a launcher runs.
type outage struct {
	Killed   time.Time     `json:"killed"`
	Answered time.Time     `json:"answered"` // the API server was back
	Code     int           `json:"code"`
	Lines    int           `json:"lines"`           // expected lines
	Wrong    int           `json:"wrong"`           // lines that are lost, doubled, or changed
	Before   int           `json:"ranks_up_before"` // ranks that had started before the kill
	Gaps     []float64     `json:"gaps_s"`
	Resumed  float64       `json:"resumed_s"` // the longest gap
	Answer   float64       `json:"answer_s"`  // until the API server was ready again
	Redials  int           `json:"redials"`
	Report   report.Report `json:"report"`
	Sees     string        `json:"sees"`
	Left     []string      `json:"left"` // remaining processes in the workers
	Detail   any           `json:"detail,omitempty"`
}

// kill stops the API server for three seconds, and waits until it is back.
func (o *outage) kill(t *testing.T) {
	t.Helper()
	o.Killed = time.Now()
	cluster(t, "apiserver", "restart-after", outagePause)
	o.Answered = time.Now()
	o.Answer = o.Answered.Sub(o.Killed).Seconds()
}

// ended records the end of the launcher.
func (o *outage) ended(s *space, launcher string, limit time.Duration) ended {
	s.t.Helper()
	end := s.end(launcher, limit)
	o.Code, o.Report, o.Sees = end.code, s.report(end), sees(end.log, end.code)
	o.Left = left(s.t, slices.DeleteFunc(s.pods(), func(p corev1.Pod) bool { return !isWorker(&p) }), 20*time.Second)
	o.Redials = o.Report.Redialled
	for _, ms := range o.Report.GapsMS {
		o.Gaps = append(o.Gaps, float64(ms)/1000)
		o.Resumed = max(o.Resumed, float64(ms)/1000)
	}
	return end
}

// record records the rows of one outage, and fails the test if one misses its bar.
func (o *outage) record(t *testing.T, when string) {
	t.Helper()
	dir, err := figure.Dir()
	require.NoError(t, err)
	rows := []figure.Row{
		{Name: "exit code", Op: "==", Bar: 0, Log: "code"},
		{Name: "lines lost or doubled", Op: "==", Bar: 0, Log: "wrong"},
		{Name: "links redialled", Op: ">=", Bar: outageWorkers, Log: "redials"},
		{Name: "seconds to resumed", Unit: "s", Log: "resumed_s"},
		{Name: "seconds until it was ready itself", Unit: "s", Log: "answer_s"},
	}
	for i := range rows {
		rows[i].Name = "api server killed " + when + ": " + rows[i].Name
	}
	kept, err := figure.Keep(dir, "make e2e", "api-server-"+strings.NewReplacer(" ", "-", ".", "_").Replace(when), o, rows...)
	require.NoError(t, err)
	t.Log(kept)
	assert.NoError(t, figure.Missed(kept))
	table := faultTable{Cases: []faultCase{{Event: "API server killed for 3 s", Load: when, At: o.Killed, Sees: o.Sees, Code: o.Code,
		Seconds: o.Resumed, Lines: o.Lines, Wrong: o.Wrong, Redials: o.Redials, Left: o.Left}}}
	if o.Code != 0 {
		table.BadCodes++
	}
	table.record(t, "API server killed "+when)
	require.Positive(t, o.Lines, "the number of expected lines")
	require.Equal(t, outageWorkers, o.Report.LinksHeld, "links at the end")
}

// count compares the ranks' numbered lines in the log with the expected ones. log has the kubelet's time before
// each line.
func (o *outage) count(log string, perRank int) {
	n := countNumbered(log, outageWorkers*outageSlots, perRank)
	o.Lines, o.Wrong = n.lines, n.wrong
	for _, begun := range n.begun {
		if begun.Before(o.Killed) {
			o.Before++
		}
	}
}

// outageJob returns a job whose workers stay for several launchers.
func outageJob(image string) job {
	return job{name: "out", image: image, workers: outageWorkers, slots: outageSlots, flags: []string{"--keep-workers", "--exit=strict"}}
}

// outageSpace starts the workers of j, without a launcher.
func outageSpace(t *testing.T, j job) *space {
	t.Helper()
	s := newSpace(t)
	all := j.access(t)
	var pods []string
	for i := range j.workers {
		all = append(all, j.worker(t, i))
		pods = append(pods, j.workerName(i))
	}
	s.apply(all...)
	s.ready(3*time.Minute, pods...)
	return s
}

// outageLauncher starts another launcher of j, and follows its output.
func outageLauncher(s *space, j job, name string, command ...string) *lines {
	s.t.Helper()
	j.command = command
	pod := j.launcher(s.t)
	pod.Name = name
	s.apply(pod)
	s.ready(3*time.Minute, name) // after an outage, the scheduler is slow
	return s.follow(name)
}

// outageMPI runs mpirun, stops the API server when due returns, and records the result.
func outageMPI(t *testing.T, s *space, j job, mpirun, when string, perRank int, due func(*lines) time.Duration) {
	here := &space{t: t, name: s.name}
	launcher := "out-launcher-" + strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(when))
	said := outageLauncher(here, j, launcher, "sh", "-c",
		`echo "mpirun starts $(date +%s%N)"; exec "$@"`, "sh", mpirun, "sh", "-c", outageRanks(perRank))
	time.Sleep(due(said))
	var o outage
	o.kill(t)
	o.ended(here, launcher, 2*time.Minute)
	log := here.kubectl("logs", "--timestamps", launcher)
	o.count(log, perRank)
	o.record(t, when)
	ranks := outageWorkers * outageSlots
	if strings.Contains(when, "starts") {
		require.Less(t, o.Before, ranks, "the API server must be killed before every rank has started")
	} else {
		require.Equal(t, ranks, o.Before, "every rank must have started before the API server is killed")
	}
}

// afterStart waits until d after mpirun started.
func afterStart(t *testing.T, d time.Duration) func(*lines) time.Duration {
	return func(l *lines) time.Duration {
		line := l.until(2*time.Minute, "mpirun starts ")
		ns, err := strconv.ParseInt(line[strings.LastIndex(line, " ")+1:], 10, 64)
		require.NoError(t, err)
		return time.Until(time.Unix(0, ns).Add(d))
	}
}

// inTheMiddle waits until every rank has written its first lines.
func inTheMiddle(l *lines) time.Duration {
	seen := map[string]bool{}
	for len(seen) < outageWorkers*outageSlots {
		seen[strings.Fields(l.until(2*time.Minute, "line "))[1]] = true
	}
	return time.Second
}

// TestBreakAPIServer kills the API server with -9 and starts it again three seconds later. The workers of both jobs
// exist before the first outage: for a minute after each outage, the cluster's own controllers are slow to create
// pods.
func TestBreakAPIServer(t *testing.T) {
	t.Cleanup(func() { awaitControllers(t) })
	j, hydra := outageJob("openmpi"), outageJob("mpich")
	s := outageSpace(t, j)
	h := outageSpace(t, hydra)
	t.Run("launch", func(t *testing.T) {
		outageMPI(t, s, j, "mpirun", "0.2 s after mpirun starts", 20, afterStart(t, 200*time.Millisecond))
	})
	t.Run("mpich", func(t *testing.T) { // hydra's daemons keep a stream each for the whole run
		outageMPI(t, h, hydra, "mpiexec", "in the middle of an MPICH run", 60, inTheMiddle)
	})
	t.Run("openmpi", func(t *testing.T) {
		outageMPI(t, s, j, "mpirun", "in the middle of an Open MPI run", 60, inTheMiddle)
	})
	t.Run("sessions", func(t *testing.T) { outageSessions(t, s, j) })
}

// awaitControllers restarts the cluster's own clients of the API server: after several outages in a row, their
// watches reconnect up to a minute late. It waits until they again create the objects of a new namespace.
func awaitControllers(t *testing.T) {
	cluster(t, "controllers", "restart")
	for _, node := range []string{"node1", "node2"} {
		cluster(t, "kubelet", "restart", node)
	}
	_, err := kubectlCall{namespace: "default", limit: 2 * time.Minute}.run("wait", "--for=condition=Ready", "node", "--all", "--timeout=90s")
	require.NoError(t, err)
	name := "e2e-controllers-" + strings.ToLower(rand.Text()[:5])
	call := kubectlCall{namespace: name}
	_, err = call.run("create", "namespace", name)
	require.NoError(t, err)
	defer func() {
		_, err := call.run("delete", "namespace", name, "--wait=false")
		require.NoError(t, err)
	}()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		_, err := call.run("wait", "--for=create", "serviceaccount/default", "--timeout=50s")
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "the controllers did not recover: %v", err)
	}
}

// outageSessions runs raw sessions of `agent rsh` with numbered lines in both directions. Every byte passes the API
// server.
func outageSessions(t *testing.T, s *space, j job) {
	here := &space{t: t, name: s.name}
	load := rawLoad{seconds: 15, beat: 0.05, lines: 50}
	said := outageLauncher(here, j, "out-launcher-sessions", load.command(t, j)...)
	said.until(2*time.Minute, "streaming")
	time.Sleep(3 * time.Second)
	var o outage
	o.kill(t)
	end := o.ended(here, "out-launcher-sessions", 3*time.Minute)
	sessions := load.sessions(t, end.log)
	require.Len(t, sessions, outageWorkers, end.log)
	o.Wrong, o.Lines = load.wrong(t, sessions)
	require.Equal(t, 2*load.total()*outageWorkers, o.Lines, "the number of lines")
	o.Detail = sessions
	o.record(t, "under 20 sessions")
}

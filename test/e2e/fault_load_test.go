//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/agent/launch/report"
)

const (
	faultWorkers = 20
	// mostSeconds is how long loads run if they are not stopped.
	mostSeconds = 240
	rankBeats   = 2                   // lines per second of testdata/rank.py
	faultLabel  = "example.com/fault" // on every pod, for kubectl drain
	faultNode   = "node2"             // the node that is lost and drained; launchers are on the other node
)

// faults is the target of the rows: three jobs of twenty workers each. The workers stay from row to row, and the
// launchers run at the same time.
type faults struct {
	s    *space
	jobs []job
	ckpt string // on every node, and in workers as /ckpt
}

// The numbers of the workers that the rows strike. Their pods differ from the others.
const (
	victimRestarts = 1 // its container is restarted
	victimDies     = 2 // its container is not restarted
	victimDeleted  = 3
	victimEats     = 4 // has a memory limit
)

// TestBreak strikes jobs while they work: their launchers, their links, their workers.
func TestBreak(t *testing.T) {
	f := newFaults(t)
	for _, part := range []struct {
		name string
		rows func(*testing.T, *faults)
	}{{"launchers", breakLaunchers}, {"links", breakLinks}, {"workers", breakWorkers}} {
		t.Run(part.name, func(t *testing.T) { part.rows(t, f) })
	}
}

// newFaults starts the workers. The rows never use the scheduler, because it is very slow for a while after an
// outage of the API server.
func newFaults(t *testing.T) *faults {
	t.Helper()
	f := &faults{s: newSpaceWith(t, "privileged"), ckpt: t.TempDir()}
	require.NoError(t, os.Chmod(f.ckpt, 0o777|os.ModeSticky))
	for _, k := range [][2]string{{"ompi", "openmpi"}, {"mpich", "mpich"}, {"raw", "openmpi"}} {
		f.jobs = append(f.jobs, job{name: k[0], image: k[1], workers: faultWorkers, slots: 1, edit: f.edit})
	}
	var all []any
	for _, j := range f.jobs {
		all = append(all, j.access(t)...)
	}
	f.s.apply(all...)
	f.heal(t)
	return f
}

// edit assigns a pod to a node, and configures the victims.
func (f *faults) edit(pod *corev1.Pod) {
	pod.Spec.NodeName = "node1"
	pod.Spec.TopologySpreadConstraints = nil
	pod.Labels[faultLabel] = "yes"
	if !isWorker(pod) {
		return
	}
	i, _ := strconv.Atoi(pod.Labels["muster.dev/index"]) // the tests have set the label
	if i%2 == 1 {
		pod.Spec.NodeName = faultNode
	}
	switch i {
	case victimRestarts:
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	case victimEats:
		first(pod).Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "ckpt", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: f.ckpt}}})
	first(pod).VolumeMounts = append(first(pod).VolumeMounts, corev1.VolumeMount{Name: "ckpt", MountPath: "/ckpt"})
}

// over returns the path of a file that ends the loads cleanly.
func (f *faults) over() string { return filepath.Join(f.ckpt, "over") }

// heal replaces workers that are damaged, and deletes launchers.
func (f *faults) heal(t *testing.T) {
	t.Helper()
	s := &space{t: t, name: f.s.name}
	well := map[string]bool{}
	var bad []string
	for _, pod := range s.pods() {
		status := pod.Status.ContainerStatuses
		if isWorker(&pod) && pod.DeletionTimestamp == nil && len(status) == 1 && status[0].State.Running != nil && podReady(pod) {
			well[pod.Name] = true
			continue
		}
		bad = append(bad, "pod/"+pod.Name)
	}
	if len(bad) > 0 {
		s.kubectl(append([]string{"delete", "--force", "--grace-period=0", "--wait=true", "--timeout=50s"}, bad...)...)
	}
	var replacements []any
	var names []string
	for _, j := range f.jobs {
		for i := range j.workers {
			if !well[j.workerName(i)] {
				replacements, names = append(replacements, j.worker(t, i)), append(names, j.workerName(i))
			}
		}
	}
	if len(replacements) > 0 {
		s.apply(replacements...)
		s.ready(3*time.Minute, names...)
	}
}

func podReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// workerPods returns the workers of all jobs. If numbers are given, it returns only those workers.
func (f *faults) workerPods(s *space, numbers ...int) []corev1.Pod {
	s.t.Helper()
	var all []corev1.Pod
	for _, pod := range s.pods() {
		i, _ := strconv.Atoi(pod.Labels["muster.dev/index"])
		if isWorker(&pod) && (len(numbers) == 0 || slices.Contains(numbers, i)) {
			all = append(all, pod)
		}
	}
	return all
}

// work is one launcher with its load.
type work struct {
	j    job
	kind string
	pod  string
	raw  *rawLoad // nil: an MPI run
	said *lines
	end  ended
}

// start creates a launcher for every job at the same time, and returns when all loads are in the middle of their
// work. The row may replace the loads' own command, and edit the launchers' pods.
func (f *faults) start(s *space, row fault) []*work {
	s.t.Helper()
	script, err := os.ReadFile("testdata/rank.py")
	require.NoError(s.t, err)
	require.NoError(s.t, os.RemoveAll(f.over()))
	var works []*work
	var pods []any
	for _, j := range f.jobs {
		w := &work{j: j, pod: j.launcherName()}
		rank := []string{"sh", "-c", `/opt/muster-test/hello && exec python3 -c "$@"`, "sh", string(script), strconv.Itoa(rankBeats * mostSeconds)}
		switch j.name {
		case "ompi":
			w.kind, w.j.command = fmt.Sprintf("Open MPI, %d workers", j.workers), append([]string{"mpirun"}, rank...)
		case "mpich":
			w.kind, w.j.command = fmt.Sprintf("MPICH, %d workers", j.workers), append([]string{"mpiexec"}, rank...)
		case "raw":
			w.kind, w.raw = fmt.Sprintf("%d raw sessions", j.workers), &rawLoad{seconds: mostSeconds, beat: 0.2, lines: 20}
			w.j.command = w.raw.command(s.t, j)
		}
		if row.command != nil {
			w.j.command = row.command(w.j)
		}
		w.j.flags = append([]string{"--keep-workers", "--exit=strict", "--log-level=info"}, row.flags...)
		pod := w.j.launcher(s.t)
		if row.launcher != nil {
			row.launcher(&pod)
		}
		works, pods = append(works, w), append(pods, pod)
	}
	s.apply(pods...)
	for _, w := range works {
		w.said = s.follow(w.pod)
	}
	for _, w := range works {
		w.inTheMiddle(row)
	}
	return works
}

// inTheMiddle waits until every rank or session has written something.
func (w *work) inTheMiddle(row fault) {
	w.said.s.t.Helper()
	switch {
	case row.command != nil:
		w.said.until(2*time.Minute, row.begun)
	case w.raw != nil:
		w.said.until(2*time.Minute, "streaming")
	default:
		for seen := map[string]bool{}; len(seen) < faultWorkers; {
			seen[strings.Fields(w.said.until(2*time.Minute, "line "))[1]] = true
		}
	}
}

var upAgain = regexp.MustCompile(`"msg":"link up","worker":"([^"]+)"`)

// relinked reads the log until every worker's link is up again.
func (w *work) relinked() {
	w.said.s.t.Helper()
	for seen := map[string]bool{}; len(seen) < faultWorkers; {
		if m := upAgain.FindStringSubmatch(w.said.until(time.Minute, `"msg":"link up"`)); m != nil {
			seen[m[1]] = true
		}
	}
}

// wrong returns the number of lines that did not arrive as they were sent, and the number of expected lines.
func (w *work) wrong(t *testing.T) (wrong, lines int) {
	t.Helper()
	if w.raw == nil {
		n := countNumbered(w.end.log, faultWorkers, 0)
		return n.wrong, n.lines
	}
	sessions := w.raw.sessions(t, w.end.log)
	wrong, lines = w.raw.wrong(t, sessions)
	if missing := faultWorkers - len(sessions); missing != 0 {
		t.Errorf("%s: %d sessions did not report their end", w.kind, missing)
		wrong += missing
	}
	return wrong, lines
}

// sees returns the line that tells the user what happened.
func (w *work) sees() string { return sees(w.end.log, w.end.code) }

// sees returns the line about a lost worker, or otherwise the launcher's last line. The launcher's summary counts
// only if the exit code is 0.
func sees(log string, code int) string {
	last := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "agent: worker ") && strings.Contains(line, " lost: ") {
			return line
		}
		if strings.HasPrefix(line, "agent: ") && !(strings.HasPrefix(line, "agent: ended after ") && last != "" && code != 0) {
			last = line
		}
	}
	return last
}

// report returns the launcher's report, if it fits into the termination message.
func (w *work) report(t *testing.T) (r report.Report) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(w.end.message), &r), w.end.message)
	return r
}

var linkUp = regexp.MustCompile(`(?m)^\{"level":"info","time":"([^"]+)","msg":"link up"`)

// lastLink returns when the last link came up after a time, or zero if no link did.
func (w *work) lastLink(t *testing.T, after time.Time) (last time.Time, links int) {
	t.Helper()
	for _, m := range linkUp.FindAllStringSubmatch(w.end.log, -1) {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		require.NoError(t, err)
		if at.After(after) {
			links++
			last = at
		}
	}
	return last, links
}

func (w *work) String() string { return fmt.Sprintf("%s (%s)", w.kind, w.pod) }

//go:build linux

package supervise

import (
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/rendezvous"
)

// pool is the pods of an elastic run, and the supervisor of an attempt that started with the first.
type pool struct {
	*Supervisor
	pods  []*corev1.Pod
	ready []rendezvous.Worker
}

// member returns a worker of a pool, and its pod, which runs on a node of the same number.
func member(number string) (rendezvous.Worker, *corev1.Pod) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-" + number, UID: "u"}, Spec: corev1.PodSpec{NodeName: "n-" + number, Containers: []corev1.Container{{Name: "main"}}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return rendezvous.Worker{Name: pod.Name, UID: "u", Node: pod.Spec.NodeName, Container: "main"}, pod
}

// newPool returns a pool whose attempt has started with worker w-0. needed means that its command does
// not survive the loss of a worker.
func newPool(needed bool) *pool {
	w, pod := member("0")
	p := &pool{pods: []*corev1.Pod{pod}, ready: []rendezvous.Worker{w}}
	p.Supervisor = New(Config{Links: &fleet.Links{}, Tally: tally.New(), Voice: &console.Voice{Out: io.Discard}, Workers: p.ready})
	r := &Roster{Workforce: rendezvous.Workforce{Least: 1, Most: 4}, Absent: NewAbsent(), Needed: needed, Takes: needed,
		Hear: func(rendezvous.Snapshot) {}, Changed: func(rendezvous.Change, bool) {}, Ready: func() []rendezvous.Worker { return p.ready }}
	r.Workforce.Look(p.ready, nil)
	p.Enroll(r)
	return p
}

// join lets a worker join, and returns its pod.
func (p *pool) join(number string) *corev1.Pod {
	w, pod := member(number)
	p.ready, p.pods = append(p.ready, w), append(p.pods, pod)
	p.see()
	return pod
}

// see shows the pods as they are now to the supervisor.
func (p *pool) see() { p.onPods(rendezvous.Snapshot{At: time.Now(), Pods: p.pods}, time.Now()) }

// drained begins to drain the node of a pod.
func drained(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
}

// TestAWorkerThatJoined checks that a worker which joined an elastic run is known as well as those with
// which the run started.
func TestAWorkerThatJoined(t *testing.T) {
	p := newPool(true)
	pod := p.join("1")
	require.Equal(t, "n-1", p.nodeOf("w-1"))
	require.False(t, p.Leaving())
	drained(pod)
	p.see()
	require.True(t, p.Leaving(), "the other ranks get the whole grace to save")
	require.Equal(t, "will be removed from node n-1: Eviction API: evicting", p.GoneBy("w-1"))
	p.NotePreempted()
	require.True(t, p.tally.IsLeaving("w-1"))
	p.ready, p.pods = p.ready[:1], p.pods[:1] // it has ended
	p.see()
	require.False(t, p.Leaving())
	require.Equal(t, "will be removed from node n-1: Eviction API: evicting", p.GoneBy("w-1"))
	p.join("1")
	require.Empty(t, p.GoneBy("w-1"), "nothing takes away a worker that is there again")
}

// TestADepartureThatWasSurvived checks that a command which failed long after a worker had left did not
// fail because of that. One that failed soon after may have.
func TestADepartureThatWasSurvived(t *testing.T) {
	for name, row := range map[string]struct {
		after time.Duration // from the departure to the failure
		want  []string
	}{
		"soon": {time.Minute, []string{"w-1"}},
		"late": {time.Hour, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(false)
				pod := p.join("1")
				drained(pod)
				p.see()
				p.tally.Preempt("w-1") // its ranks say so
				p.tally.Starve("w-1")
				p.ready, p.pods = p.ready[:1], p.pods[:1]
				p.see()
				time.Sleep(row.after)
				p.NotePreempted()
				var e verdict.Evidence
				p.tally.Testify(&e)
				p.Pardon(&e)
				require.Equal(t, row.want, e.Leaving)
				require.Equal(t, row.want, e.Starved)
			})
		})
	}
}

// TestAWorkerIsBackForTheNextAttempt checks that nothing is ended on a worker that was given up, if it
// takes part in the next attempt, which has cleared it. One that is back while an attempt runs has yet
// to end its old processes.
func TestAWorkerIsBackForTheNextAttempt(t *testing.T) {
	for name, row := range map[string]struct {
		next bool // it takes part in the next attempt from its start
		late bool // an older question whether it has ended its processes is answered afterwards
		told []string
	}{
		"while an attempt runs":    {told: []string{"w-1"}},
		"for the next attempt":     {next: true},
		"and fails to answer late": {next: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(true)
			p.join("1")
			workers, absent := p.ready, p.membership.(elastic).roster.Absent
			p.ready, p.pods = p.ready[:1], p.pods[:1] // its node is lost
			p.see()
			if row.next {
				absent.Return(workers)
			}
			if row.late {
				absent.Cleared(workers[1], false)
			}
			var told []string
			fit := absent.Fit(slices.Clone(workers), func(w rendezvous.Worker) { told = append(told, w.Name) })
			require.Equal(t, row.told, told)
			require.Equal(t, row.next, len(fit) == 2)
		})
	}
}

// TestAWorkerJoinsDuringAStop checks that nothing is started on a worker that joins while the attempt is
// brought to its end. The next attempt is its first.
func TestAWorkerJoinsDuringAStop(t *testing.T) {
	for name, row := range map[string]struct {
		stop  func(p *pool)
		takes bool
	}{
		"it runs": {stop: func(*pool) {}, takes: true},
		"a worker leaves": {stop: func(p *pool) {
			p.letGo(&fleet.GoingDown{Worker: "w-0", Until: time.Now().Add(time.Minute)}, time.Now())
		}},
		"a signal stops it": {stop: func(p *pool) { p.onSignal(syscall.SIGTERM) }},
		"it hangs":          {stop: func(p *pool) { p.ending.onHang(time.Minute) }},
		"it restarts":       {stop: func(p *pool) { p.restartFor("worker w-9 left") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(true)
			p.Command, p.Group = &stubborn{ended: make(chan struct{})}, true
			p.cfg.Grace = time.Minute
			var took []bool
			p.membership.(elastic).roster.Changed = func(_ rendezvous.Change, takes bool) { took = append(took, takes) }
			row.stop(p)
			why := p.RestartFor
			p.join("1")
			require.Equal(t, []bool{row.takes}, took)
			require.Equal(t, why, p.RestartFor)
		})
	}
}

// TestAWorkerLeavesDuringAStop checks that a run which was stopped because it hung, or without RDMA, does
// not restart for another reason when a worker leaves meanwhile.
func TestAWorkerLeavesDuringAStop(t *testing.T) {
	for name, row := range map[string]struct {
		found Findings
		want  string
	}{
		"it runs":       {want: "worker w-1 left"},
		"it hangs":      {found: Findings{Hung: "train hung for 60 s and was stopped"}},
		"it needs RDMA": {found: Findings{Refused: "train was stopped: NCCL fell back to sockets"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(true)
			p.join("1")
			p.Findings = row.found
			p.ready, p.pods = p.ready[:1], p.pods[:1]
			p.see()
			require.Equal(t, row.want, p.RestartFor)
		})
	}
}

// TestTooFewWorkersDuringAStop checks that an attempt which is brought to its end waits for no more
// workers.
func TestTooFewWorkersDuringAStop(t *testing.T) {
	for name, row := range map[string]struct {
		stop func(p *pool)
		want string
	}{
		"it runs":           {stop: func(*pool) {}, want: "agent: 1 of at least 2 workers ready; waiting up to 10m for more\n"},
		"a signal stops it": {stop: func(p *pool) { p.onSignal(syscall.SIGTERM) }},
		"it hangs":          {stop: func(p *pool) { p.ending.onHang(time.Minute) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(false)
			p.Command, p.Group = &stubborn{ended: make(chan struct{})}, true
			p.cfg.Timeout = 10 * time.Minute
			p.join("1")
			p.membership.(elastic).roster.Workforce.Least = 2
			row.stop(p)
			var said strings.Builder
			p.voice = &console.Voice{Out: &said}
			p.ready, p.pods = p.ready[:1], p.pods[:1]
			p.see()
			_, rest, _ := strings.Cut(said.String(), "agent: worker w-1 left (the pod was deleted while the job ran): 1 worker, 2 to 4 wanted\n")
			require.Equal(t, row.want, rest)
		})
	}
}

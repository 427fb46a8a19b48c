//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/contract"
)

// over returns s with a fixed set of workers.
func over(s *Supervisor) *Supervisor {
	s.membership = fixed{s}
	s.begin()
	return s
}

// parkedRun returns a run with one worker, which has a daemon and a parked link.
func parkedRun(t *testing.T, r *contract.Node) *Supervisor {
	t.Helper()
	worker := rendezvous.Worker{Name: "pi-worker-0", UID: "uid-0", Container: "main"}
	r.Dialer = local.Dialer{Path: contract.NewWorker(t, nil).Socket}
	counts := tally.New()
	all := fleet.NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), counts)
	all.Keep(context.Background(), worker, func(note func(link.State)) *link.Link {
		return link.New(link.Config{Worker: worker.Name, Dialer: r, ParkAfter: 400 * time.Millisecond, PingEvery: 20 * time.Millisecond, OnState: note})
	})
	t.Cleanup(all.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	daemon, err := all.LinkOf(worker.Name).Open(ctx, "", wire.Spec{Line: "setsid sleep 1000 >/dev/null 2>&1 </dev/null &"}, link.Streams{})
	require.NoError(t, err)
	_, err = daemon.Wait(ctx)
	require.NoError(t, err)
	s := over(&Supervisor{cfg: config.Config{Limits: config.Limits{NodeLostAfter: 100 * time.Millisecond, Grace: time.Second}}, links: all, tally: counts,
		voice: &console.Voice{Out: io.Discard}, started: []rendezvous.Worker{worker}})
	awaitLink(t, s, func(l link.State) bool { return l.Parked })
	return s
}

func awaitLink(t *testing.T, s *Supervisor, ok func(link.State) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return ok(s.links.Standings()["pi-worker-0"].State) }, time.Minute, time.Millisecond)
}

// notReady returns a snapshot of a pod whose kubelet does not answer.
func notReady() rendezvous.Snapshot {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker-0", UID: "uid-0"},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main"}}}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
	return rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod}}
}

func TestNodeLostBehindAParkedLink(t *testing.T) {
	r := &contract.Node{}
	s := parkedRun(t, r)
	r.Lose()
	s.onPods(notReady(), time.Now())
	require.False(t, s.known("pi-worker-0"), "a parked link proves nothing")
	awaitLink(t, s, func(l link.State) bool { return !l.Parked })
	require.Eventually(t, func() bool { s.onPods(s.last, time.Now()); return s.known("pi-worker-0") }, time.Minute, 10*time.Millisecond)
	require.True(t, s.ending.phase.lost())
	var e verdict.Evidence
	s.tally.Testify(&e)
	require.Contains(t, e.Lost[0].Cause, "the kubelet of node n1 does not answer for 1m")
}

func TestReadinessThatFailsBehindAParkedLink(t *testing.T) {
	s := parkedRun(t, &contract.Node{})
	parked := s.links.Standings()["pi-worker-0"].State.Since
	s.onPods(notReady(), time.Now())
	awaitLink(t, s, func(l link.State) bool { return l.Parked && l.Since.After(parked) })
	s.onPods(s.last, time.Now().Add(time.Hour))
	require.False(t, s.known("pi-worker-0"), "a worker that answers is not lost, whatever its pod's status")
}

func TestAftermath(t *testing.T) {
	for name, tc := range map[string]struct {
		failed, lost bool
		told         int
		want         bool
	}{
		"the command failed by itself": {failed: true},
		"the worker was lost first":    {failed: true, lost: true, want: true},
		"the command was told to stop": {failed: true, lost: true, told: 15},
		"the command succeeded anyway": {lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &contract.Node{}
			s := parkedRun(t, r)
			if tc.told != 0 {
				s.ending.onSignal(syscall.Signal(tc.told), time.Second, time.Now())
			}
			awaitLink(t, s, func(l link.State) bool {
				if l.Parked { // the link may have connected and parked between two checks
					s.links.Standings()["pi-worker-0"].Link.Wake()
				}
				return l.Connected
			})
			if tc.lost { // the launcher has not noticed yet
				r.Lose()
				r.Cut()
				told := time.AfterFunc(300*time.Millisecond, func() { s.links.Lose("pi-worker-0", errors.New("gone")) })
				defer told.Stop()
			}
			began := time.Now()
			s.Aftermath(t.Context(), tc.failed)
			require.Equal(t, tc.want, s.known("pi-worker-0"))
			if !tc.lost {
				require.Less(t, time.Since(began), verdictWait, "the check takes only one round trip")
			}
		})
	}
}

// stubborn is an mpirun that does not notice a lost worker and ends when it is told to.
type stubborn struct {
	ended chan struct{}
	told  []syscall.Signal
}

func (c *stubborn) Done() <-chan struct{} { return c.ended }

func (c *stubborn) Signal(sig syscall.Signal) {
	if c.told = append(c.told, sig); len(c.told) == 1 {
		close(c.ended)
	}
}

func (c *stubborn) Leave(string, time.Duration) (number int, later <-chan int) { return 0, nil }

func (c *stubborn) Stop(sig syscall.Signal, _ time.Duration, _ bool) (number int, later <-chan int) {
	c.Signal(sig)
	return 0, nil
}

// TestLostBeforeTheCommandBegan checks that a loss between the arrival of all workers and the start
// of mpirun ends the run, for example of a replacement that ends at once. Such a loss is already
// recorded, so the watch does not see it as new.
func TestLostBeforeTheCommandBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := tally.New()
		all := fleet.NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), counts)
		cmd := &stubborn{ended: make(chan struct{})}
		s := over(&Supervisor{cfg: config.Config{Limits: config.Limits{Grace: time.Second}}, Subject: Subject{Command: cmd, Name: "mpirun"}, links: all, tally: counts, voice: &console.Voice{Out: io.Discard}, started: []rendezvous.Worker{{Name: "pi-worker-0"}, {Name: "pi-worker-1"}}})
		counts.Lose(verdict.Lost{Worker: "pi-worker-1", Cause: "gone"})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.Watch(ctx)
		require.Equal(t, lostPatience, time.Since(began))
		require.Equal(t, []syscall.Signal{syscall.SIGTERM}, cmd.told)
		require.True(t, s.ending.asked)
	})
}

// TestLostOnRecord checks the same for a watch that learns only later that a recorded worker is
// lost, as in an elastic run.
func TestLostOnRecord(t *testing.T) {
	s := &Supervisor{cfg: config.Config{Limits: config.Limits{Grace: time.Second}}, tally: tally.New(), voice: &console.Voice{Out: io.Discard}}
	gone := verdict.Lost{Worker: "pi-worker-1", Cause: "gone"}
	s.tally.Lose(gone)
	require.True(t, s.lose(gone), "a recorded loss ends the command")
	require.False(t, s.lose(gone), "a loss is handled once")
	require.Equal(t, lostPatience, s.ending.wait())
}

// TestOnlySomeLostWorkersAreNamed checks that a failed rack does not fill the terminal.
func TestOnlySomeLostWorkersAreNamed(t *testing.T) {
	var out strings.Builder
	s := &Supervisor{tally: tally.New(), voice: &console.Voice{Out: &out}}
	for i := range 300 {
		s.lose(verdict.Lost{Worker: fmt.Sprintf("w-%d", i), Cause: "gone"})
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, mostNamedLost+1)
	require.Equal(t, "agent: worker w-9 lost: gone", lines[9])
	require.Equal(t, "agent: more workers are lost; the end of this attempt gives their number", lines[10])
	require.Len(t, s.tally.Figures().Lost, 300)
}

func TestNodeLost(t *testing.T) {
	now := time.Now()
	since := func(code rendezvous.Code, ago time.Duration) rendezvous.Loss {
		return rendezvous.Loss{Reason: rendezvous.Reason{Code: code, Since: now.Add(-ago)}}
	}
	down := func(ago time.Duration) link.State { return link.State{Since: now.Add(-ago)} }
	replaced := since(rendezvous.NodeLost, time.Second)
	replaced.Replaced = true
	for name, tc := range map[string]struct {
		link  link.State
		loss  rendezvous.Loss
		woken bool
		want  bool
	}{
		"both down for long enough":       {down(31 * time.Second), since(rendezvous.NodeLost, 31*time.Second), false, true},
		"both down, not long enough":      {down(29 * time.Second), since(rendezvous.NodeLost, 29*time.Second), false, false},
		"the link is up":                  {link.State{Connected: true, Since: now.Add(-time.Hour)}, since(rendezvous.NodeLost, time.Minute), false, false},
		"closed on purpose":               {link.State{Parked: true, Since: now.Add(-time.Hour)}, since(rendezvous.NodeLost, time.Minute), false, false},
		"the link just dropped":           {down(0), since(rendezvous.NodeLost, time.Minute), false, false},
		"the pod just changed":            {down(time.Minute), since(rendezvous.NodeLost, 0), false, false},
		"not caused by the node":          {down(time.Minute), since(rendezvous.Preempted, time.Minute), false, false},
		"the link was parked before":      {down(10 * time.Second), since(rendezvous.NotReady, 31*time.Second), true, true},
		"replaced":                        {down(10 * time.Second), replaced, false, true},
		"replaced, the link just dropped": {down(9 * time.Second), replaced, false, false},
		"replaced, the link is up":        {link.State{Connected: true}, replaced, false, false},
	} {
		require.Equal(t, tc.want, nodeLost(tc.link, tc.loss, tc.woken, 30*time.Second, now), name)
	}
}

//go:build linux

package launch

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/suite/proc"
)

func TestRestIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runner{signals: make(chan os.Signal, 4)}
		began := time.Now()
		require.NoError(t, r.rest(t.Context(), 30*time.Second))
		require.Equal(t, 30*time.Second, time.Since(began))
		require.NoError(t, r.rest(t.Context(), -time.Second))

		r.signals <- syscall.SIGUSR1 // the command's own affair
		time.AfterFunc(10*time.Second, func() { r.signals <- syscall.SIGINT })
		began = time.Now()
		err := r.rest(t.Context(), time.Minute)
		require.Equal(t, 130, CodeOf(err))
		require.Equal(t, 10*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.rest(ctx, time.Minute), context.DeadlineExceeded)
	})
}

// crewOf is a runner that has links to n real workers.
func crewOf(t *testing.T, n int) (*runner, []rendezvous.Worker) {
	t.Helper()
	r := &runner{cfg: Defaults(), voice: &voice{w: io.Discard}, signals: make(chan os.Signal, 4), tally: newTally()}
	paths := map[string]string{}
	r.links = newLinks(socketFleet(paths), nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), r.tally)
	var workers []rendezvous.Worker
	var first *contract.Worker // its reaper is the process's
	for i := range n {
		w := rendezvous.Worker{Name: "w-" + strconv.Itoa(i), UID: "uid-" + strconv.Itoa(i), Index: i}
		one := contract.NewWorker(t, func(c *session.Config) {
			if first != nil {
				c.Reaper = first.Reaper
			}
		})
		if first == nil {
			first = one
		}
		paths[w.Name] = one.Socket
		r.links.follow(t.Context(), w)
		workers = append(workers, w)
	}
	t.Cleanup(func() { r.links.close(); r.wg.Wait() })
	for name, s := range r.links.standings() {
		require.Eventually(t, func() bool { return s.link.State().Connected }, time.Minute, time.Millisecond, name)
	}
	return r, workers
}

type socketFleet map[string]string

func (f socketFleet) dialer(w rendezvous.Worker) link.Dialer { return local.Dialer{Path: f[w.Name]} }

// leave starts a session on a worker that leaves a process behind which has left
// its group and does not heed TERM, and gives the session's id.
func leave(t *testing.T, r *runner, worker string) string {
	t.Helper()
	id := wire.NewID()
	out := &contract.Text{}
	line := "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 & sleep 0.1; echo left; exit 3"
	s, err := r.links.standings()[worker].link.Open(t.Context(), id, wire.Spec{Line: line}, link.Streams{Stdout: out})
	require.NoError(t, err)
	exit, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, exit.Code)
	require.NotEmpty(t, marked(id), "the test would show nothing")
	t.Cleanup(func() { proc.Wipe(names.EnvSession + "=" + id) })
	return id
}

// marked are the processes of a session.
func marked(id string) []proc.Process { return proc.Marked(names.EnvSession + "=" + id) }

func TestClearLeavesNothing(t *testing.T) {
	r, workers := crewOf(t, 3)
	for range 2 { // each attempt anew
		var ids []string
		for _, w := range workers {
			ids = append(ids, leave(t, r, w.Name))
		}
		require.NoError(t, r.clear(t.Context(), t.Context(), workers))
		for _, id := range ids {
			require.Empty(t, marked(id))
		}
	}
	require.Empty(t, r.gone(t.Context(), &attempt{workers: workers}), "all are there for the next attempt")
}

func TestClearIsInterrupted(t *testing.T) {
	r, workers := crewOf(t, 1)
	leave(t, r, "w-0")
	r.signals <- syscall.SIGTERM
	require.Equal(t, 143, CodeOf(r.clear(t.Context(), t.Context(), workers)))
}

func TestClearDoesNotWaitForTheLost(t *testing.T) {
	r, workers := crewOf(t, 2)
	leave(t, r, "w-0")
	r.links.lose("w-1", io.ErrUnexpectedEOF)
	require.NoError(t, r.clear(t.Context(), t.Context(), workers))
	require.Equal(t, []string{"w-1"}, r.gone(t.Context(), &attempt{workers: workers}))
}

// A worker that does not answer, and is not known to be lost, may run the last
// attempt: there is no next one beside it.
func TestClearWaitsForTheSilent(t *testing.T) {
	r, workers := crewOf(t, 2)
	quiet := &road{}
	quiet.Path = r.links.fleet.(socketFleet)["w-1"]
	r.links.forget([]string{"w-1"})
	ctx, stop := context.WithCancel(t.Context())
	m := &member{worker: rendezvous.Worker{Name: "w-1", UID: "uid-1"}, stop: stop, done: make(chan struct{})}
	m.link = link.New(link.Config{Worker: "w-1", Dialer: quiet, OnState: func(s link.State) { r.links.note(m, s) }})
	r.links.mu.Lock()
	r.links.members["w-1"] = m
	r.links.mu.Unlock()
	r.links.run(ctx, m)
	require.Eventually(t, func() bool { return r.links.standings()["w-1"].state.Connected }, time.Minute, time.Millisecond)
	id := leave(t, r, "w-1")
	quiet.lost.Store(true)
	quiet.cut()
	done := make(chan error, 1)
	go func() { done <- r.clear(t.Context(), t.Context(), workers) }()
	select {
	case err := <-done:
		require.FailNow(t, "it did not wait", "%v", err)
	case <-time.After(time.Second):
	}
	quiet.lost.Store(false)
	require.NoError(t, <-done)
	require.Empty(t, marked(id))

	r.cfg.Timeout = 300 * time.Millisecond
	quiet.lost.Store(true)
	quiet.cut()
	err := r.clear(t.Context(), t.Context(), workers)
	require.Equal(t, names.ExitDeadline, CodeOf(err))
	require.ErrorContains(t, err, "worker w-1")
}

func TestGoneWorkers(t *testing.T) {
	r, workers := crewOf(t, 4)
	pod := func(w rendezvous.Worker, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: w.Name, UID: types.UID(w.UID)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
		change(p)
		return p
	}
	for i := range workers {
		workers[i].Container = "main"
	}
	now := metav1.Now()
	r.shot = rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{
		pod(workers[0], func(*corev1.Pod) {}),
		pod(workers[1], func(p *corev1.Pod) { p.DeletionTimestamp = &now }),
		pod(workers[2], func(*corev1.Pod) {}),
		pod(workers[3], func(p *corev1.Pod) { p.UID = "another" }),
	}}
	r.tally.preempt("w-2")
	require.Equal(t, []string{"w-1", "w-2", "w-3"}, r.gone(t.Context(), &attempt{workers: workers}))

	// The wait for those in their place does not stumble over what they end with.
	over := &past{pods: map[string]bool{"uid-1": true}}
	w := &waiter{board: rendezvous.New(2, 0), past: over}
	failed := pod(workers[1], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.setPods(rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod(workers[0], func(*corev1.Pod) {}), failed}})
	require.Len(t, w.board.Workers(), 1)
	failed = pod(workers[2], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.setPods(rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod(workers[0], func(*corev1.Pod) {}), failed}})
	require.Len(t, w.board.Workers(), 2, "another one's failure counts")
	require.True(t, (&past{instances: map[string]bool{"i": true}}).going(wire.WelcomeRecord{Instance: "i"}))
}

func TestRestartsOfTheUser(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"--max-restarts=-1: there are no fewer than none":                     func(c *Config) { c.MaxRestarts = -1 },
		`--restart-on=137,sigsegv: "sigsegv" is no exit code`:                 func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "137,sigsegv" },
		"--restart-on=1 says after what to restart":                           func(c *Config) { c.RestartOn, c.Origin = "1", map[string]string{"restart-on": "flag --restart-on"} },
		"--port=64000 leaves no ports for a second attempt":                   func(c *Config) { c.MaxRestarts, c.Port = 1, 64000 },
		"--restart-on=999: 999 is no exit code: they are 1 to 255":            func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "999" },
		`--restart-on=+1,137: "137" has no + or - before it, and others have`: func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "+1,137" },
	} {
		c := Defaults()
		change(&c)
		err := c.validateRestarts()
		require.ErrorContains(t, err, want)
		require.Equal(t, names.ExitUsage, CodeOf(err))
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.NotEmpty(t, f.Hint())
	}
	c := Defaults()
	require.NoError(t, c.validateRestarts())
	c.RestartOn, c.Origin = "1", map[string]string{"restart-on": "env MUSTER_RESTART_ON"}
	require.NoError(t, c.validateRestarts(), "a pod's environment is for many commands")
	policy, err := Config{MaxRestarts: 2}.retries()
	require.NoError(t, err)
	require.True(t, (&retry.Account{Policy: policy}).Decide(retry.End{Code: 137}).Again)
}

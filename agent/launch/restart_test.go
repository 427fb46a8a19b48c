//go:build linux

package launch

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/suite/proc"
)

func TestRestIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runner{fleet: &fleet.Fakes{}, means: means{signals: make(chan os.Signal, 4)}}
		began := time.Now()
		require.NoError(t, r.rest(t.Context(), 30*time.Second))
		require.Equal(t, 30*time.Second, time.Since(began))
		require.NoError(t, r.rest(t.Context(), -time.Second))

		r.signals <- syscall.SIGUSR1 // only forwarded to the command
		time.AfterFunc(10*time.Second, func() { r.signals <- syscall.SIGINT })
		began = time.Now()
		err := r.rest(t.Context(), time.Minute)
		require.Equal(t, 130, failure.CodeOf(err))
		require.Equal(t, 10*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.rest(ctx, time.Minute), context.DeadlineExceeded)
	})
}

// runnerWith returns a runner with links to n real workers.
func runnerWith(t *testing.T, n int) (*runner, []rendezvous.Worker) {
	t.Helper()
	r, workers, _ := runnerAt(t, n)
	return r, workers
}

// runnerAt does the same as runnerWith, and also returns the workers' sockets by name.
func runnerAt(t *testing.T, n int) (*runner, []rendezvous.Worker, map[string]string) {
	t.Helper()
	r := &runner{fleet: &fleet.Fakes{}, cfg: config.Defaults(), means: means{voice: &console.Voice{Out: io.Discard}, signals: make(chan os.Signal, 4)}, tally: tally.New()}
	paths := map[string]string{}
	r.links = fleet.NewLinks(socketFleet(paths), nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), r.tally)
	var workers []rendezvous.Worker
	var first *contract.Worker // the other workers share its reaper, because a process has only one
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
		r.links.Follow(t.Context(), w)
		workers = append(workers, w)
	}
	t.Cleanup(func() { r.links.Close(); r.wg.Wait() })
	for name, s := range r.links.Standings() {
		require.Eventually(t, func() bool { return s.Link.State().Connected }, time.Minute, time.Millisecond, name)
	}
	return r, workers, paths
}

type socketFleet map[string]string

func (f socketFleet) Dialer(w rendezvous.Worker) link.Dialer { return local.Dialer{Path: f[w.Name]} }

// leave starts a session on a worker. The session leaves a process behind, which has left its
// process group and ignores TERM. leave returns the session's id.
func leave(t *testing.T, r *runner, worker string) string {
	t.Helper()
	id := wire.NewID()
	out := &contract.Text{}
	line := "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 & sleep 0.1; echo left; exit 3"
	s, err := r.links.Standings()[worker].Link.Open(t.Context(), id, wire.Spec{Line: line}, link.Streams{Stdout: out})
	require.NoError(t, err)
	exit, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, exit.Code)
	require.NotEmpty(t, marked(id), "the session left no process, so the test proves nothing")
	t.Cleanup(func() { proc.Wipe(names.EnvSession + "=" + id) })
	return id
}

// counted is a Node that counts its dials.
type counted struct {
	contract.Node
	dials atomic.Int32
}

// Dial implements link.Dialer.
func (c *counted) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c.dials.Add(1)
	return c.Node.Dial(ctx)
}

// marked returns the processes of a session.
func marked(id string) []proc.Process { return proc.Marked(names.EnvSession + "=" + id) }

func TestClearLeavesNothing(t *testing.T) {
	r, workers := runnerWith(t, 3)
	for range 2 { // each attempt leaves processes
		var ids []string
		for _, w := range workers {
			ids = append(ids, leave(t, r, w.Name))
		}
		require.NoError(t, r.clear(t.Context(), t.Context(), workers))
		for _, id := range ids {
			require.Empty(t, marked(id))
		}
	}
	require.Empty(t, r.gone(t.Context(), &attempt{workers: workers}), "all workers are ready for the next attempt")
}

func TestClearIsInterrupted(t *testing.T) {
	r, workers := runnerWith(t, 1)
	leave(t, r, "w-0")
	r.signals <- syscall.SIGTERM
	require.Equal(t, 143, failure.CodeOf(r.clear(t.Context(), t.Context(), workers)))
}

func TestClearDoesNotWaitForLostWorkers(t *testing.T) {
	r, workers := runnerWith(t, 2)
	leave(t, r, "w-0")
	r.links.Lose("w-1", io.ErrUnexpectedEOF)
	require.NoError(t, r.clear(t.Context(), t.Context(), workers))
	require.Equal(t, []string{"w-1"}, r.gone(t.Context(), &attempt{workers: workers}))
}

// TestClearWaitsForSilentWorkers checks that no attempt starts while a worker does not answer and
// is not known to be lost. Such a worker may still run the last attempt.
func TestClearWaitsForSilentWorkers(t *testing.T) {
	r, workers, paths := runnerAt(t, 2)
	quiet := &counted{Node: contract.Node{Dialer: local.Dialer{Path: paths["w-1"]}}}
	r.links.Forget([]string{"w-1"})
	r.links.Keep(t.Context(), rendezvous.Worker{Name: "w-1", UID: "uid-1"}, func(note func(link.State)) *link.Link {
		return link.New(link.Config{Worker: "w-1", Dialer: quiet, OnState: note})
	})
	require.Eventually(t, func() bool { return r.links.Standings()["w-1"].State.Connected }, time.Minute, time.Millisecond)
	id := leave(t, r, "w-1")
	quiet.Lose()
	quiet.Cut()
	done := make(chan error, 1)
	before := quiet.dials.Load()
	go func() { done <- r.clear(t.Context(), t.Context(), workers) }()
	require.Eventually(t, func() bool { return quiet.dials.Load() >= before+3 }, time.Minute, time.Millisecond, "the link is not redialed")
	select {
	case err := <-done:
		require.FailNow(t, "clear did not wait for the worker", "%v", err)
	default:
	}
	quiet.Return()
	require.NoError(t, <-done)
	require.Empty(t, marked(id))

	r.cfg.Timeout = 300 * time.Millisecond
	quiet.Lose()
	quiet.Cut()
	err := r.clear(t.Context(), t.Context(), workers)
	require.Equal(t, names.ExitDeadline, failure.CodeOf(err))
	require.ErrorContains(t, err, "worker w-1")
}

func TestGoneWorkers(t *testing.T) {
	r, workers := runnerWith(t, 4)
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
	r.tally.Preempt("w-2")
	require.Equal(t, []string{"w-1", "w-2", "w-3"}, r.gone(t.Context(), &attempt{workers: workers}))
	r.shot.Err = &rendezvous.APIError{}
	require.Equal(t, []string{"w-1", "w-2"}, r.gone(t.Context(), &attempt{workers: workers}), "without an API server, a worker that answers is there unless it is being taken away")
}

//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/contract"
)

// TestTheRightToWatchIsRevoked checks that a wait ends when the launcher may not watch pods any more. A
// time without that right while the job ran does not end the wait for the workers of its next attempt.
func TestTheRightToWatchIsRevoked(t *testing.T) {
	revoked := &rendezvous.APIError{Code: rendezvous.Forbidden, Verb: "watch", Err: errors.New("pods is forbidden"), Terminal: true}
	for name, row := range map[string]struct {
		before, during bool // the first wait has ended, the wait
		again          bool // it is a wait for replacements
		code           int
	}{
		"before the first wait": {before: true, code: names.ExitForbidden},
		"while the job ran":     {before: true, again: true, code: names.ExitDeadline},
		"while it waits":        {during: true, again: true, code: names.ExitForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stderr, err := os.Open(os.DevNull)
				require.NoError(t, err)
				defer stderr.Close()
				cfg := config.Config{}
				cfg.Workers, cfg.Timeout = 1, time.Minute
				c := NewCluster(Cluster{Config: cfg, Kube: &Kube{}, Links: NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), tally.New()),
					Voice: &console.Voice{Out: stderr, Quiet: true}, Stderr: stderr})
				if row.before {
					c.feed.failed <- revoked
				}
				if row.during {
					time.AfterFunc(time.Second, func() { c.feed.failed <- revoked })
				}
				var v *Vacancies
				if row.again {
					v = &Vacancies{Past: NewPast(nil, nil)}
				}
				_, err = c.await(t.Context(), v)
				require.Equal(t, row.code, failure.CodeOf(err), "%v", err)
			})
		})
	}
}

// TestAWorkerThatIsNotUsedAgain checks that an elastic run restarts without a worker that has ended by
// itself too often, if there are enough others.
func TestAWorkerThatIsNotUsedAgain(t *testing.T) {
	for name, row := range map[string]struct {
		barred func(string) bool
		want   []string
	}{
		"none is": {nil, []string{"w-0", "w-1"}},
		"w-0 is":  {func(worker string) bool { return worker == "w-0" }, []string{"w-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			stderr, err := os.Open(os.DevNull)
			require.NoError(t, err)
			defer stderr.Close()
			links := NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), tally.New())
			defer links.Close()
			shot, first := rendezvous.Snapshot{At: time.Now()}, contract.NewWorker(t, nil)
			for i, worker := range []*contract.Worker{first, contract.NewWorker(t, func(c *session.Config) { c.Reaper = first.Reaper })} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w-%d", i), UID: types.UID(fmt.Sprint(i))}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}}}
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
					ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
				shot.Pods = append(shot.Pods, pod)
				links.Keep(t.Context(), rendezvous.Worker{Name: pod.Name, UID: string(pod.UID)}, func(note func(link.State)) *link.Link {
					return link.New(link.Config{Worker: pod.Name, Dialer: local.Dialer{Path: worker.Socket}, OnState: note})
				})
				require.Eventually(t, func() bool { return links.Standings()[pod.Name].State.Connected }, time.Minute, time.Millisecond)
			}
			w := &waiter{board: rendezvous.New(2, 0), links: links, past: NewPast(nil, nil), barred: row.barred, printer: console.NewPrinter(stderr, "never", true, false)}
			w.board.Least = 1
			w.setPods(shot)
			now := time.Now()
			_, err = w.look(t.Context(), now)
			require.NoError(t, err)
			workers, err := w.look(t.Context(), now.Add(rendezvous.DefaultSettle))
			require.NoError(t, err)
			var names []string
			for _, w := range workers {
				names = append(names, w.Name)
			}
			require.Equal(t, row.want, names)
		})
	}
}

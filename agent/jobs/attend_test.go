package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// pager is a reader that takes nothing: a write to it begins, and returns when it is closed.
type pager struct{ begun, closed chan struct{} }

func (p pager) Write(b []byte) (int, error) {
	close(p.begun)
	<-p.closed
	return len(b), nil
}

// TestUnreadLogEndsWithTheWait checks that a signal ends the wait for a job although its log is not read. Otherwise
// agent submit --wait --logs would ignore every signal then, and --delete-on-signal would not delete.
func TestUnreadLogEndsWithTheWait(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	s, _, logs, api := newWire(t, job)
	s.Set(talker(0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}))
	logs.Write("ns", "talk-worker-0", "main", somewhen, "first\n")
	known, err := api.Job(t.Context(), "talk")
	require.NoError(t, err)
	out := pager{make(chan struct{}), make(chan struct{})}
	ctx, interrupt := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	a := Attendance{API: api, Job: "talk", UID: known.UID, Out: out, Progress: t.Logf, Say: t.Logf, Warn: t.Logf}
	go func() {
		_, _, err := a.Run(ctx)
		ended <- err
	}()
	<-out.begun
	signal := errors.New("interrupt signal received")
	interrupt(signal)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, signal)
		close(out.closed)
	case <-time.After(20 * time.Second):
		close(out.closed)
		t.Fatalf("only the end of the write ended it: %v", <-ended)
	}
}

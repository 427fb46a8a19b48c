package jobs

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/failure"
)

// podLog is the log of one container of one pod, and of no other pod of the same name.
type podLog struct {
	api            *API
	pod, container string
	uid            types.UID
}

// open implements logSource.
func (l podLog) open(ctx context.Context, since time.Time, tail int, follow bool) (io.ReadCloser, error) {
	r := l.api.client.Get().Namespace(l.api.Namespace).Resource("pods").Name(l.pod).SubResource("log").
		Param("container", l.container).Param("timestamps", "true").Param("follow", strconv.FormatBool(follow))
	if !since.IsZero() {
		r = r.Param("sinceTime", since.UTC().Format(time.RFC3339))
	}
	if tail > 0 {
		r = r.Param("tailLines", strconv.Itoa(tail))
	}
	return r.Stream(ctx)
}

// Pauses between connections. The first applies after a connection that brought lines.
const (
	shortPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
)

// onceFor is how long to retry if a log is read only once, because its node may be away.
const onceFor = 15 * time.Second

// errLost reports that a log was not read completely, and never can be.
type errLost struct{ why string }

func (e errLost) Error() string { return e.why }

// read passes on the log. With follow it reads until the container has ended for good and everything
// is read; otherwise it reads the log once. It returns errLost if the log was deleted before that.
func (l podLog) read(ctx context.Context, s *stream, follow bool, p patience) error {
	pause, began, with := shortPause, time.Now(), p // for the log; p is for the pod
	run, settled := int32(-1), false                // the container's restarts so far; the log of this run was read
	for {
		before := s.taken
		pod, err := l.api.pod(ctx, l.pod)
		if err == nil && run != runOf(pod, l.container) {
			if run >= 0 {
				s.nextRun()
			}
			run, settled = runOf(pod, l.container), false
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsNotFound(err), err == nil && pod.UID != l.uid:
			if err := s.last(); err != nil {
				return err
			}
			return errLost{"the pod was deleted, and the end of its log may be missing"}
		case !p.again(err):
			return err
		case err == nil && settled && paused(pod, l.container): // its next run has another log
		case err == nil:
			ended, err := l.readOnce(ctx, s, pod, follow)
			if ended || ctx.Err() != nil {
				return err
			}
			if lost := (errLost{}); errors.As(err, &lost) { // the container was removed already
				with.say("%v", lost)
				err = nil
			}
			if !with.again(err) || !follow && err != nil && time.Since(began) > onceFor {
				return err
			}
			if settled = err == nil && paused(pod, l.container); err == nil || s.taken > before {
				pause = shortPause
			}
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, longPause)
	}
}

// readOnce reads through one connection, or settles a log that no longer grows. ended means that
// there is nothing more to read, or that emit failed.
func (l podLog) readOnce(ctx context.Context, s *stream, pod *corev1.Pod, follow bool) (ended bool, err error) {
	again := paused(pod, l.container)
	still := again || done(pod, l.container)
	more := follow && (!still || again)
	switch {
	case still:
		err = s.settle(ctx)
	case follow:
		_, err = s.pass(ctx, true)
	default: // twice, in case the first was cut; a container that keeps writing has no end
		if _, err = s.pass(ctx, false); err == nil {
			_, err = s.pass(ctx, false)
		}
	}
	var gone errEmit
	var lost errLost
	switch {
	case errors.As(err, &gone):
		return true, printing(gone.error)
	case errors.As(err, &lost):
		return !(still && more), err
	case apierrors.IsBadRequest(err) && !more:
		return true, errLost{"there is no log: " + err.Error()} // it never started, or its node has deleted the log
	case apierrors.IsNotFound(err) && !follow:
		return true, errLost{"the pod is being deleted: " + err.Error()}
	case apierrors.IsNotFound(err):
		return false, nil // the pod is being deleted, or was just created
	case apierrors.IsBadRequest(err):
		return false, nil // the container has not started, or is just starting
	}
	return err == nil && !more, err
}

func printing(err error) error { return failure.New(1, "", "print the log: %w", err) }

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

// podLog is the log of one container of one pod, not of another of its name.
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

// Pauses between connections: the first after one that brought something.
const (
	shortPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
)

// onceFor is how long a log that is read once is asked for: its node may be away.
const onceFor = 15 * time.Second

// errLost marks the end of a log that was not read whole, and never will be.
type errLost struct{ why string }

func (e errLost) Error() string { return e.why }

// read hands on the log: with follow until the container has ended and all was read,
// else once to its end as it is. errLost: the log was deleted before that.
func (l podLog) read(ctx context.Context, s *stream, follow bool, p patience) error {
	pause, began, with := shortPause, time.Now(), p // with the log; p is with the pod
	for {
		before := s.taken
		pod, err := l.api.pod(ctx, l.pod)
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
		case err == nil:
			ended, err := l.readOnce(ctx, s, pod, follow)
			if ended || ctx.Err() != nil {
				return err
			}
			if !with.again(err) || !follow && err != nil && time.Since(began) > onceFor {
				return err
			}
			if err == nil || s.taken > before {
				pause = shortPause
			}
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, longPause)
	}
}

// readOnce reads through one connection, or settles a log that will not grow. ended:
// nothing more is to be had, or nobody wants it.
func (l podLog) readOnce(ctx context.Context, s *stream, pod *corev1.Pod, follow bool) (ended bool, err error) {
	still := done(pod, l.container)
	switch {
	case still:
		err = s.settle(ctx)
	case follow:
		_, err = s.pass(ctx, true)
	default: // twice, for an end that was a cut; a container that talks on has none
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
		return true, err
	case apierrors.IsBadRequest(err) && (still || !follow):
		return true, errLost{"there is no log: " + err.Error()} // it never began, or its node has cleared it away
	case apierrors.IsNotFound(err) && !follow:
		return true, errLost{"the pod is being deleted: " + err.Error()}
	case apierrors.IsNotFound(err):
		return false, nil // it is being deleted, or was just made
	case apierrors.IsBadRequest(err):
		return false, nil // it has not begun, or is just beginning
	}
	return err == nil && (still || !follow), err
}

func printing(err error) error { return failure.New(1, "", "print the log: %w", err) }

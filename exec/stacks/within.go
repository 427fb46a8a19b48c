//go:build linux

package stacks

import (
	"context"
	"time"
)

const unreachable = "the file system does not answer"

// answerTime is how long a function may take to notice that its context has ended.
const answerTime = 100 * time.Millisecond

// within calls f and returns its result. ok is false if f has not returned when ctx ends. A rank
// often hangs because its file system does, and reading the files of such a rank hangs too. The
// goroutine of f ends when the file system answers.
func within[T any](ctx context.Context, f func() T) (result T, ok bool) {
	returned := make(chan T, 1)
	go func() { returned <- f() }()
	select {
	case result = <-returned:
		return result, true
	case <-ctx.Done():
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case result = <-returned:
		return result, true
	case <-late.C:
		return result, false
	}
}

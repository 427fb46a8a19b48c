package s3

import (
	"context"
	"errors"
	"io"
	"time"
)

// checkName is the object that Check writes. It is no part of a run.
const checkName = "muster-write-check"

// Check returns why the output of a run cannot be kept in a store, or nil. It lists objects and writes one. It
// repeats what fails with an error that may pass, until ctx ends.
func Check(ctx context.Context, store Store, every time.Duration) error {
	for {
		err := try(ctx, store)
		if err == nil || IsLasting(err) {
			return err
		}
		if !pause(ctx, every) {
			return err
		}
	}
}

// try uses the rights that a run needs.
func try(ctx context.Context, store Store) error {
	enough := io.EOF // ends the list
	if err := store.List(ctx, runPrefix, func(string, int64) error { return enough }); err != nil && !errors.Is(err, enough) {
		return err
	}
	return store.Put(ctx, checkName, []byte("agent run --output=s3:// checks with this object that it may write here.\n"))
}

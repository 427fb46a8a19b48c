// Package await waits for tests: for a time, or until another program has come so far.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pause waits for d. It is an error when ctx ends before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Until asks at once, and then every so often, until the answer is yes; an error beside that is its
// own. An error before is asked again about, and stands beside that of ctx when this ends first.
func Until(ctx context.Context, every time.Duration, what string, so func() (bool, error)) error {
	for {
		yes, err := so()
		if yes {
			return err
		}
		if ended := Pause(ctx, every); ended != nil {
			return fmt.Errorf("wait for %s: %w", what, errors.Join(err, ended))
		}
	}
}

// Package await makes tests wait: for a duration, or until another program has reached a state.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pause waits for d. It returns an error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Until calls so at once, and then at each interval, until the result is true. It then returns the error of that
// call. After earlier errors it tries again. If ctx ends first, it returns the last of them together with the error
// of ctx.
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

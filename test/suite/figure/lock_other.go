//go:build !unix

package figure

import "errors"

// lock fails: figures are measured on Linux. Tests for other systems import this package too.
func lock(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

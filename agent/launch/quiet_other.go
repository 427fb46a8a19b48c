//go:build linux && !amd64 && !arm64

package launch

// startQuietly runs start: the filter is not written for this processor.
func startQuietly(start func() error) error { return start() }

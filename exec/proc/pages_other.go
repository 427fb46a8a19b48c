//go:build !linux

package proc

// ReleasePages does nothing: only on Linux do processes of ours wait as long as a job lasts.
func ReleasePages() {}

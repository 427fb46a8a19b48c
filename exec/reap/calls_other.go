//go:build linux && !amd64

package reap

// ownCalls are those that only this kind of machine has.
var ownCalls map[int]string

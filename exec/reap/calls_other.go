//go:build linux && !amd64

package reap

// ownCalls are further calls that only this architecture has.
var ownCalls []call

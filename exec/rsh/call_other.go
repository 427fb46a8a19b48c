//go:build !linux

package rsh

import "github.com/musterhq/muster/exec/names"

var errLinux = &sentence{text: "rsh: a launcher runs on Linux only"}

// Call needs Linux.
func Call(string, Request, [3]int) (int, error) { return names.ExitTransport, errLinux }

// Hosts needs Linux.
func Hosts(string) ([]string, error) { return nil, errLinux }

// Stacks needs Linux.
func Stacks(string, []string) ([]string, error) { return nil, errLinux }

// Pending is never made here.
type Pending struct{}

// Begin needs Linux.
func Begin(string, Request, int, int) (*Pending, error) { return nil, errLinux }

// Wait needs Linux.
func (*Pending) Wait() (int, error) { return names.ExitTransport, errLinux }

// Close needs Linux.
func (*Pending) Close() {}

// IsTerminal is of no use without Linux.
func IsTerminal(int) bool { return false }

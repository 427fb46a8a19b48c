//go:build !linux

package rsh

import "github.com/musterhq/muster/exec/names"

var errLinux = &sentence{text: "rsh: launchers run on Linux only"}

// Call returns an error, because it needs Linux.
func Call(string, Request, [3]int) (int, error) { return names.ExitTransport, errLinux }

// Hosts returns an error, because it needs Linux.
func Hosts(string) ([]string, error) { return nil, errLinux }

// Stacks returns an error, because it needs Linux.
func Stacks(string, []string) ([]string, error) { return nil, errLinux }

// Doctor returns an error, because it needs Linux.
func Doctor(string) ([]string, error) { return nil, errLinux }

// Top returns an error, because it needs Linux.
func Top(string) ([]string, error) { return nil, errLinux }

// Pending is never returned on this platform.
type Pending struct{}

// Begin returns an error, because it needs Linux.
func Begin(string, Request, int, int) (*Pending, error) { return nil, errLinux }

// Wait returns an error, because it needs Linux.
func (*Pending) Wait() (int, error) { return names.ExitTransport, errLinux }

// Close does nothing.
func (*Pending) Close() {}

// IsTerminal returns false, because it needs Linux.
func IsTerminal(int) bool { return false }

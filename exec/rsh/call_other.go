//go:build !linux

package rsh

import "github.com/musterhq/muster/agent/names"

var errLinux = &sentence{text: "rsh: a launcher runs on Linux only"}

// Call needs Linux.
func Call(string, Request, [3]int) (int, error) { return names.ExitTransport, errLinux }

// Env needs Linux.
func Env(string) ([]string, error) { return nil, errLinux }

// Hosts needs Linux.
func Hosts(string) ([]string, error) { return nil, errLinux }

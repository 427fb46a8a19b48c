//go:build !linux

package main

// askTop returns an error: launchers run on Linux.
func askTop() ([]string, error) { return nil, noTopHere() }

package framework

import "fmt"

const (
	// longestVar is the length in bytes of the longest NAME=VALUE with which Linux starts a program
	// (MAX_ARG_STRLEN of execve(2), which counts the byte at the end too).
	longestVar = 128<<10 - 1
	// mostAddresses is the length in bytes of the longest list of addresses that only programs of the
	// user's may want. Beyond some 5,000 workers the lists of all ranks take most of a launch.
	mostAddresses = 64 << 10
)

// Startable returns an error if a process of the launch has a variable with which Linux cannot start
// it. The addresses of many thousands of workers do not fit into one.
func Startable(l Launch) error {
	for _, p := range l.Processes {
		for _, v := range p.Env {
			if n := len(v.Name) + 1 + len(v.Value); n > longestVar {
				return fmt.Errorf("%s would have %d bytes, and Linux starts no program with a variable of more than %d: use fewer workers", v.Name, n, longestVar)
			}
		}
	}
	return nil
}

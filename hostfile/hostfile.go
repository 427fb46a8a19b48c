package hostfile

import (
	"bytes"
	"fmt"
	"strings"
)

// Host is one line of a hostfile.
type Host struct {
	// Name is what the launcher passes to its remote agent: an IP address, a host name or a pod
	// name, optionally after "user@". It has no white space and no '#'.
	Name string
	// Slots is the number of ranks that the host takes, at least 1.
	Slots int
}

// OpenMPI renders hosts as "name slots=N\n" lines.
func OpenMPI(hosts []Host) []byte {
	var out bytes.Buffer
	for _, h := range hosts {
		fmt.Fprintf(&out, "%s slots=%d\n", h.Name, h.Slots)
	}
	return out.Bytes()
}

// Hydra renders hosts as "name:N\n" lines.
func Hydra(hosts []Host) []byte {
	var out bytes.Buffer
	for _, h := range hosts {
		name := h.Name
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		fmt.Fprintf(&out, "%s:%d\n", name, h.Slots)
	}
	return out.Bytes()
}

//go:build linux

package proc

import (
	"bytes"
	"strconv"

	"github.com/musterhq/muster/exec/reap"
)

// Cgroup is the path of a container's own cgroup.
const Cgroup = "/sys/fs/cgroup"

// MemoryKills returns how many processes of this container the kernel has killed for memory so far.
// It reads the field oom_kill of memory.events (Linux, admin-guide/cgroup-v2.rst) or, since 4.13,
// of memory.oom_control (cgroup-v1/memory.rst), below root. The kernel counts a kill in the cgroup of
// the process, whichever limit was reached. So kills for the limit of the whole pod count too. It
// returns 0 if neither file can be read. On cgroup v2 Kubernetes makes the kernel kill the whole container, and then no process is left to
// ask.
func MemoryKills(root string) int {
	var data bytes.Buffer
	for _, file := range []string{"/memory.events", "/memory/memory.oom_control"} {
		if reap.ReadFile(root+file, &data) != nil {
			continue
		}
		for line := range bytes.Lines(data.Bytes()) {
			name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			if n, err := strconv.Atoi(string(value)); err == nil && string(name) == "oom_kill" {
				return n
			}
		}
	}
	return 0
}

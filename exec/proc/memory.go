//go:build linux

package proc

import (
	"bytes"
	"strconv"

	"github.com/musterhq/muster/exec/reap"
)

// Cgroup is where a container sees its own cgroup.
const Cgroup = "/sys/fs/cgroup"

// MemoryKills returns how many processes of this container the kernel has killed for
// its memory so far: the field oom_kill of memory.events (Linux,
// admin-guide/cgroup-v2.rst) or, since 4.13, of memory.oom_control
// (cgroup-v1/memory.rst), below root. 0 where neither can be read. On cgroup v2
// Kubernetes has the kernel kill the whole container, and nobody is left to ask.
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

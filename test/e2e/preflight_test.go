//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestPreflight breaks the workers of a job, or the network between them, before its launcher starts. The launcher
// must name what is broken.
func TestPreflight(t *testing.T) {
	for name, row := range map[string]struct {
		flags, command []string
		edit           func(*corev1.Pod)
		damage         func(s *space, worker func(i int) string)
		alone          bool // beside other rows, the machine itself is slow
		code           int
		says           string // a regular expression for the launcher's log
	}{
		"healthy": {flags: []string{"--preflight=fail"}, command: []string{"echo", "ran"}, says: `(?m)^ran$`},
		"a firewall between two workers": {
			flags: []string{"--preflight=fail"}, command: []string{"echo", "ran"}, code: 76,
			damage: func(s *space, worker func(i int) string) { s.block(worker(2), s.pod(worker(1)).Status.PodIP) },
			says:   `agent: preflight: %[2]s to %[3]s( on \S+)?: no connection: no answer|agent: preflight: %[3]s to %[2]s( on \S+)?: no connection: no answer`,
		},
		"a worker that nobody reaches": {
			flags: []string{"--preflight=fail"}, command: []string{"echo", "ran"}, code: 76,
			damage: func(s *space, worker func(i int) string) {
				for _, i := range []int{0, 1, 3} {
					s.block(worker(2), s.pod(worker(i)).Status.PodIP)
				}
			},
			says: `agent: preflight: %[3]s on \S+: 3 of its 3 connections with other workers failed: no answer`,
		},
		"a slow worker": {
			command: []string{"echo", "ran"}, alone: true,
			damage: func(s *space, worker func(i int) string) {
				s.within(worker(3), "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "50mbit", "burst", "32kbit", "latency", "100ms")
			},
			says: `agent: preflight: %[4]s on \S+: it sends \S+/s at most, the others about \S+/s`,
		},
		"a small /dev/shm": {
			flags: []string{"--framework=torch"}, command: []string{"true"},
			says: `agent: preflight: %[1]s, %[2]s and 2 more: /dev/shm has 64Mi, the runtime's default`,
		},
		"a name server that does not answer": {
			flags: []string{"--framework=torch"}, command: []string{"true"},
			damage: func(s *space, worker func(i int) string) {
				for i := range 4 {
					s.within(worker(i), "iptables", "-w", "-I", "INPUT", "-p", "udp", "--sport", "53", "-j", "DROP")
				}
			},
			says: `agent: preflight: [^\n]*: the name server did not answer within 1 s for \S+: each rank waits for it, usually 10 s`,
		},
		"few CPUs and little memory": {
			flags: []string{"--framework=torch", "--procs-per-worker=3"}, command: []string{"true"},
			edit: func(p *corev1.Pod) {
				if isWorker(p) {
					p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("150Mi")}
				}
			},
			says: `the CPU limit is 0.5 for 3 ranks[\s\S]*are left for 3 ranks`,
		},
		"a user check": {
			flags: []string{"--preflight=fail", "--preflight-command=case $(hostname) in *-2) echo broken; exit 4; esac"}, command: []string{"echo", "ran"}, code: 76,
			says: `agent: preflight: %[3]s on \S+: --preflight-command exited with 4: broken`,
		},
		"a check of all workers": {
			flags: []string{"--preflight=fail", `--preflight-group-command=test $RANK != 1`}, command: []string{"echo", "ran"}, code: 76,
			says: `agent: preflight: %[2]s on \S+: --preflight-group-command: rank 1 on %[2]s exited with 1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !row.alone {
				t.Parallel()
			}
			s := newSpace(t)
			j := job{name: "check", image: "openmpi", workers: 4, slots: 1, flags: row.flags, command: row.command, edit: row.edit, words: true}
			s.apply(j.access(t)...)
			var workers []string
			for i := range j.workers {
				s.apply(j.worker(t, i))
				workers = append(workers, j.workerName(i))
			}
			s.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].started}=true", "--timeout=55s", "pod", "--all")
			if row.damage != nil {
				row.damage(s, j.workerName)
			}
			s.apply(j.launcher(t))
			e := s.end(j.launcherName(), 2*time.Minute)
			require.Equal(t, row.code, e.code, e.log)
			says := row.says
			if strings.Contains(says, "%") {
				says = fmt.Sprintf(says, workers[0], workers[1], workers[2], workers[3])
				says, _, _ = strings.Cut(says, "%!(EXTRA")
			}
			require.Regexp(t, says, e.log)
			if row.code != 0 {
				require.NotContains(t, e.log, "ran\n")
				require.True(t, strings.HasPrefix(e.message, "preflight: "), e.message)
			}
		})
	}
}

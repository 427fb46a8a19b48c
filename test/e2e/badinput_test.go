//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// TestBadInput checks that launchers in a real cluster report each mistake in one line with a hint.
func TestBadInput(t *testing.T) {
	t.Parallel()
	explain(t, newSpace(t), []explainRow{
		{
			name: "selector", created: -1, flags: []string{"--selector=muster.dev/job in (a"}, code: names.ExitUsage,
			says: []string{`^agent: --selector="muster.dev/job in \(a": .*`, `^hint: a selector is written as label=value,label=value$`},
		},
		{
			name: "workers", created: -1, flags: []string{"--workers=0"}, code: names.ExitUsage,
			says: []string{`^agent: the number of workers is not set$`, `^hint: --workers=4`},
		},
		{
			name: "faults", created: -1, flags: []string{"--fake-fault=drop every=256KiB"}, code: names.ExitUsage,
			says: []string{`^agent: --fake-fault needs --fake`, `^hint: add --fake=4$`},
		},
		{
			name: "container", flags: []string{"--container=trainer"}, code: names.ExitHopeless,
			says: []string{`^agent: wait for workers: POD: the pod has no container trainer, only worker$`, `^hint: name it with --container`},
		},
		{
			name: "hostfile", flags: []string{"--hostfile=/proc/hosts"}, code: names.ExitUsage,
			says: []string{`^agent: .*/proc/hosts`, `^hint: `},
		},
		{
			name: "host", workers: 2, command: []string{"agent", "rsh", "x-host-worker-7", "true"}, code: names.ExitTransport,
			says: []string{`^agent: .*unknown host "x-host-worker-7": the workers are x-host-worker-0, x-host-worker-1$`},
		},
		{
			name: "program", command: []string{"agent", "rsh", "x-program-worker-0", "/opt/no/such"}, code: names.ExitNotFound,
			says: []string{`/opt/no/such: not found`, `^agent: .*worker x-program-worker-0.*(127|/opt/no/such)`},
		},
		{
			name: "launcherprogram", command: []string{"/opt/no/such"}, code: names.ExitNotFound,
			says: []string{`^agent: /opt/no/such: no such file or directory$`},
		},
		{
			name: "variable", launcher: func(pod *corev1.Pod) {
				first(pod).Env = []corev1.EnvVar{{Name: "OMPI_MCA_plm_rsh_agent", Value: "/usr/bin/mine"}}
			},
			command: []string{"sh", "-c", "echo the agent is $OMPI_MCA_plm_rsh_agent"},
			says:    []string{`^the agent is /usr/bin/mine$`, `^agent: .*OMPI_MCA_plm_rsh_agent`},
		},
		{
			// The worker's spec does not have the variable's value, as with a variable from an image's ENV.
			name: "reserved", flags: []string{"--framework=plain"}, command: []string{"sh", "-c", "echo the master is $MASTER_ADDR"},
			worker: func(pod *corev1.Pod) {
				first(pod).Env = []corev1.EnvVar{{Name: "MASTER_ADDR", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
			},
			says: []string{`^the master is POD$`, `^agent: MASTER_ADDR="POD" is set and kept in place of "[0-9.]+": `},
		},
	})
}

// TestBadInputNobody mistypes the selector: no pod matches by the deadline, and the hint names the command that
// shows the labels of existing pods.
func TestBadInputNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	row := explainRow{
		name: "slip", workers: 2, code: names.ExitDeadline, flags: []string{"--timeout=20s", "--selector=muster.dev/job=x-slipp"},
		says: []string{
			`^agent: wait for workers: 0 of 2 workers are ready after (19|20|21)s$`,
			`^selector: muster.dev/job=x-slipp, in namespace NS: 0 pods match$`,
			`hint: no pod has these labels: .* kubectl get pods -n NS --show-labels$`, `^hint: --timeout sets how long to wait$`,
		},
	}
	explain(t, s, []explainRow{row})
	require.Contains(t, strings.Join(strings.Fields(s.kubectl("get", "pods")), " "), "x-slip-worker-1")
}

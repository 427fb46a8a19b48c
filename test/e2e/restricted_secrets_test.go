//go:build e2e

package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// secretNames are the keys of a Secret and the variables with their values. The name of the last one does not look
// like a secret: only the pod's spec shows that it is one.
var secretNames = []string{"DATABASE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GREETING"}

// withSecrets sets variables of every pod of a job from its Secret.
func withSecrets(pod *corev1.Pod) {
	container := &pod.Spec.Containers[0]
	for _, name := range secretNames {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "treasure"}, Key: name}}})
	}
	if isWorker(pod) {
		container.Args = []string{"worker", "-v"}
	}
}

// TestSecrets checks that values of a Secret reach the ranks, but nothing that other users may read. That is: no
// log, even at debug level, no termination message, no status or event, no command line, and no output of agent
// env. The job fails, because a failure prints the most.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		image, command string
		words          bool // the launcher's termination message is a message, otherwise its report
	}{
		{"openmpi", "mpirun", true},
		{"mpich", "mpiexec", false},
	} {
		t.Run(c.image, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			values := map[string]string{}
			sum := sha256.New()
			for _, name := range secretNames {
				values[name] = rand.Text()
				sum.Write([]byte(values[name]))
			}
			const ranks = `printf %s "$DATABASE_PASSWORD$AWS_SECRET_ACCESS_KEY$HF_TOKEN$GREETING" | sha256sum; ` +
				`until [ -e /tmp/told ]; do sleep 0.3; done; echo no such model >&2; exit 3`
			j := job{name: "quiet", image: c.image, workers: 2, slots: 1, words: c.words, edit: withSecrets,
				flags: []string{"--log-level=debug"}, command: []string{c.command, "sh", "-c", ranks}}
			secret := corev1.Secret{StringData: values}
			secret.APIVersion, secret.Kind, secret.Name = "v1", "Secret", "treasure"
			s.apply(append([]any{secret}, j.objects(t)...)...)
			pods := []string{j.launcherName(), j.workerName(0), j.workerName(1)}
			log := s.follow(j.launcherName())
			for range 2 {
				log.until(2*time.Minute, fmt.Sprintf("%x  -", sum.Sum(nil))) // the ranks have the values
			}
			seen := map[string]string{}
			for _, line := range []string{"agent env", "agent env --explain", "agent hosts --format=json", "agent run --dry-run --fake=2 -- mpirun true"} {
				got := s.exec(time.Minute, j.launcherName(), "sh", "-c", line)
				require.Zero(t, got.code, "%s: %+v", line, got)
				require.NotEmpty(t, got.stdout)
				seen[line] = got.stdout + got.stderr
			}
			for _, pod := range pods {
				got := s.exec(time.Minute, pod, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
				require.Contains(t, got.stdout, "sha256sum", "the command lines of %s", pod)
				seen["command lines of "+pod] = got.stdout
			}
			s.kubectl("exec", pods[1], "--", "touch", "/tmp/told")
			_ = s.exec(time.Minute, pods[2], "touch", "/tmp/told") // mpirun may end that worker meanwhile; mpiexec does not
			end := s.end(j.launcherName(), time.Minute)
			require.Equal(t, 3, end.code, end.log)
			require.NotEmpty(t, end.message)
			for i := range j.workers {
				s.terminated(j.workerName(i), time.Minute)
			}
			for _, pod := range pods {
				seen["log of "+pod] = s.logs(pod)
				seen["object and status of "+pod] = s.kubectl("get", "pod", pod, "-o", "json")
			}
			require.Contains(t, seen["log of "+pods[1]], "level=DEBUG")
			require.Contains(t, seen["object and status of "+pods[1]], "agent worker: ", "the worker's termination message")
			seen["events"] = s.kubectl("get", "events", "-o", "json")
			for where, text := range seen {
				for name, value := range values {
					if strings.Contains(text, value) {
						t.Errorf("the value of %s is in %s:\n%s", name, where, text)
					}
				}
			}
		})
	}
}

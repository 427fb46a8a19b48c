//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/musterhq/muster/test/suite/hosts"
)

const hostsDir = "/hosts"

// hostPrograms returns a ConfigMap and a volume with the programs of test/suite/hosts.
func hostPrograms() (corev1.ConfigMap, corev1.Volume) {
	files := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "programs"}, Data: map[string]string{}}
	mode := int32(0o555)
	from := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files.Name}, DefaultMode: &mode}
	for name, text := range hosts.Programs() {
		key := strings.ReplaceAll(name, "/", "-")
		files.Data[key] = text
		from.Items = append(from.Items, corev1.KeyToPath{Key: key, Path: name})
	}
	return files, corev1.Volume{Name: files.Name, VolumeSource: corev1.VolumeSource{ConfigMap: from}}
}

// withListener adds the programs to a pod, first in PATH, and a container that answers at every port of the runs
// with the pod's name.
func withListener(pod *corev1.Pod, programs corev1.Volume) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, programs)
	one := first(pod)
	one.VolumeMounts = append(one.VolumeMounts, corev1.VolumeMount{Name: programs.Name, MountPath: hostsDir, ReadOnly: true})
	one.Env = append(one.Env, corev1.EnvVar{Name: "PATH", Value: hostsDir + ":/usr/local/bin:/usr/bin:/bin"})
	listener := *one.DeepCopy()
	listener.Name, listener.Args = "listener", nil
	listener.Command = []string{"python3", path.Join(hostsDir, "listen.py"), pod.Name, "0.0.0.0"}
	for _, port := range hosts.Ports() {
		listener.Command = append(listener.Command, fmt.Sprint(port))
	}
	listener.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(hosts.Answer)}}}
	if !isWorker(pod) {
		one.Command, one.Args = []string{"sleep", "inf"}, nil
	}
	pod.Spec.Containers = append(pod.Spec.Containers, listener)
}

// TestEveryHostIsReached resolves and dials every host in every variable of a built-in framework, from every
// worker. Each host must be the expected worker. One launcher pod runs all cases, one after the other.
func TestEveryHostIsReached(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	files, programs := hostPrograms()
	j := job{name: "hosts", image: "openmpi", workers: 3, slots: 1, edit: func(pod *corev1.Pod) { withListener(pod, programs) }}
	s.apply(append([]any{files}, j.objects(t)...)...)
	var workers []string
	for i := range j.workers {
		workers = append(workers, j.workerName(i))
	}
	s.ready(2*time.Minute, append(workers, j.launcherName())...)
	nodes := map[string]bool{}
	for _, w := range workers {
		nodes[s.pod(w).Spec.NodeName] = true
	}
	require.Len(t, nodes, 2, "the workers must be on both nodes")
	meeting := s.pod(workers[0]).Status.PodIP

	var found []hosts.Found
	began := time.Now()
	for _, c := range hosts.Cases() {
		argv := append([]string{"agent"}, c.Argv(hostsDir, "--job="+j.name, "--workers=3", "--container=worker", "--keep-workers",
			c.Meeting(meeting), "--env=PYTHONPATH="+hostsDir)...)
		got := s.exec(time.Minute, j.launcherName(), argv...)
		require.Zero(t, got.code, "%s: %+v", c.Name, got)
		seen, err := c.Read(got.stdout)
		require.NoError(t, err, got.stderr)
		some, err := c.Find(seen, workers)
		require.NoError(t, err)
		found = append(found, some...)
	}
	endpoints := hosts.Endpoints(found)
	t.Logf("%d variables of %d cases, %d endpoints, in %.1f s", len(found), len(hosts.Cases()), len(endpoints), time.Since(began).Seconds())

	answers, errs := make([]string, len(workers)), make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			answers[i], errs[i] = s.try(time.Minute, append([]string{"exec", w, "--", "python3", path.Join(hostsDir, "dial.py")}, endpoints...)...)
		})
	}
	all.Wait()
	for i, w := range workers {
		require.NoError(t, errs[i])
		var who map[string]string
		require.NoError(t, json.Unmarshal([]byte(answers[i]), &who), answers[i])
		wrong := hosts.Judge(found, w, who)
		require.Empty(t, wrong, "%d endpoints are wrong, the first: %q", len(wrong), wrong[:min(len(wrong), 1)])
	}
}

var boundLine = regexp.MustCompile(`(?m)^bound (\S+)$`)

// TestHostNetwork runs two jobs of two workers with the host's network, all four on one node. Every process's own
// port and both master ports must differ, and can be bound at the same time.
func TestHostNetwork(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "privileged")
	script, err := os.ReadFile("testdata/ports.py")
	require.NoError(t, err)
	var nodes corev1.NodeList
	s.read(&nodes, "get", "nodes")
	node := nodes.Items[0]
	jobs := []string{"left", "right"}
	for _, name := range jobs {
		s.start(job{name: name, image: "openmpi", workers: 2, slots: 1, flags: []string{"--framework=paddle", "--output=plain"},
			command: []string{"python3", "-c", string(script)},
			edit: func(pod *corev1.Pod) {
				if isWorker(pod) {
					pod.Spec.HostNetwork, pod.Spec.TopologySpreadConstraints = true, nil
					pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
				}
			}})
	}
	bound, hosts := map[string]string{}, map[string]bool{}
	for _, name := range jobs {
		end := s.end(name+"-launcher", 2*time.Minute)
		require.Zero(t, end.code, end.log)
		lines := boundLine.FindAllStringSubmatch(end.log, -1)
		require.Len(t, lines, 3, end.log)
		for _, m := range lines {
			require.Empty(t, bound[m[1]], "%s of %s is also bound by %s", m[1], name, bound[m[1]])
			bound[m[1]] = name
			host, _, err := net.SplitHostPort(m[1])
			require.NoError(t, err)
			hosts[host] = true
		}
	}
	require.Len(t, bound, 6)
	require.Len(t, hosts, 1, "all workers must have the same address: %v", bound)
}

//go:build linux

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/exec/names"
)

// TestManifests parses the manifests of docs/guides/join.md as strictly as the API server does, and
// their commands like `agent join`.
func TestManifests(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/join.md")
	require.NoError(t, err)
	var services []corev1.Service
	var pods []corev1.PodSpec
	var workers []int32
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for _, text := range strings.Split(block[1], "---\n") {
			kind := regexp.MustCompile(`(?m)^kind: (\w+)`).FindStringSubmatch(text)[1]
			into := map[string]any{"Service": &corev1.Service{}, "Job": &batchv1.Job{}, "StatefulSet": &appsv1.StatefulSet{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}}[kind]
			require.NotNil(t, into, kind)
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), into), text)
			switch o := into.(type) {
			case *corev1.Service:
				require.True(t, o.Spec.PublishNotReadyAddresses)
				require.Equal(t, "None", o.Spec.ClusterIP)
				services = append(services, *o)
			case *batchv1.Job:
				require.Equal(t, *o.Spec.Completions, *o.Spec.Parallelism)
				require.Equal(t, corev1.RestartPolicyNever, o.Spec.Template.Spec.RestartPolicy, "podFailurePolicy needs restartPolicy: Never")
				require.Equal(t, services[len(services)-1].Name, o.Spec.Template.Spec.Subdomain)
				pods, workers = append(pods, o.Spec.Template.Spec), append(workers, *o.Spec.Parallelism)
			case *appsv1.StatefulSet:
				require.Equal(t, services[len(services)-1].Name, o.Spec.ServiceName)
				require.Equal(t, services[len(services)-1].Spec.Selector, o.Spec.Template.Labels)
				pods, workers = append(pods, o.Spec.Template.Spec), append(workers, *o.Spec.Replicas)
			}
		}
	}
	require.Len(t, pods, 2)
	for i, pod := range pods {
		c := pod.Containers[0]
		require.Equal(t, []string{names.AgentPath, "join"}, c.Command[:2])
		cfg := join.Defaults()
		fs := newFlags("join")
		joinFlags(fs, &cfg)
		require.NoError(t, fs.Parse(c.Command[2:]))
		cfg.Command, cfg.Host, cfg.Token = fs.Args(), "train-1", []byte(token)
		require.NoError(t, cfg.Identify(func(string) string { return "" }, "10.0.0.2 train-1.train.x.svc.cluster.local train-1\n"))
		require.NoError(t, cfg.Validate())
		require.EqualValues(t, workers[i], cfg.Workers)
		require.EqualValues(t, names.JoinPort, c.Ports[0].ContainerPort)
		require.Greater(t, float64(*pod.TerminationGracePeriodSeconds), cfg.Grace.Seconds())
		for _, e := range c.Env {
			require.Contains(t, []string{names.EnvToken, names.EnvPodName, names.EnvPodIP, names.EnvPodIndex}, e.Name)
			require.Empty(t, e.Value)
		}
	}
}

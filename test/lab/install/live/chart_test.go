//go:build e2e

package live

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

const (
	chartDir = "../../../../images/chart"
	// launchLimit is the limit for launching two workers and their launcher, on a machine with other load.
	launchLimit = 2 * time.Minute
)

// TestValues checks the manifests that the chart renders from its values, and which values it rejects.
func TestValues(t *testing.T) {
	out := mustHelm(t, "lint", "--strict", chartDir)
	require.Contains(t, out, "0 chart(s) failed")
	require.NotContains(t, out, "[WARNING]")
	template := func(set ...string) (string, error) {
		return helm(t, append([]string{"template", "muster", chartDir, "-n", "x", "--kube-version=1.34"}, set...)...)
	}
	out, err := template("--set=image.registry=r.example:5000/a,image.tag=1.2,image.digest.agent=sha256:"+strings.Repeat("a", 64),
		"--set=imagePullSecrets[0].name=secret,nodeSelector.pool=infra,priorityClassName=high,maxWorkers=2000000,resources.limits.memory=1Gi",
		"--set=tolerations[0].operator=Exists,replicas=2,namespaces={a,b}")
	require.NoError(t, err, out)
	for _, want := range []string{
		"image: r.example:5000/a/muster-controller:1.2\n", "image: r.example:5000/a/muster-agent@sha256:aaaa", "value: r.example:5000/a/muster-agent@sha256:aaaa",
		"- name: secret\n", "pool: infra\n", "high\n", "memory: 1Gi\n", "- operator: Exists\n", "replicas: 2\n", "- --max-workers=2000000\n", "value: \"a,b\"\n", "namespace: a\n", "namespace: b\n",
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "ghcr.io")
	require.NotContains(t, out, "ClusterRole")
	require.NotContains(t, out, "kubeflow.org")
	require.NotContains(t, out, "--metrics-addr")
	require.Contains(t, out, "name: metrics\n")
	out, err = template("--set=metrics=false")
	require.NoError(t, err, out)
	require.Contains(t, out, "- --metrics-addr=0\n")
	require.NotContains(t, out, "8080")
	for _, name := range []string{"muster-edit", "muster-view", "muster-accounts"} {
		require.Contains(t, out, "name: "+name+"\n")
	}
	for _, kind := range []string{"PodMonitor", "PrometheusRule", "ConfigMap"} {
		require.NotContains(t, out, "kind: "+kind+"\n", "monitoring is off by default")
	}
	out, err = template("--set=monitoring.podMonitors=true,monitoring.alerts=true,monitoring.dashboards=true,monitoring.labels.release=prom")
	require.NoError(t, err, out)
	require.Equal(t, 2, strings.Count(out, "kind: PodMonitor\n"))
	require.Equal(t, 4, strings.Count(out, "release: prom\n"))
	require.Contains(t, out, "namespaceSelector: {any: true}\n")
	require.Contains(t, out, "15 minutes: {{ $labels.reason }}", "Prometheus' templates stay as they are")
	require.Contains(t, out, "--progress-addr=:8443\n")
	out, err = template("--set=monitoring.podMonitors=true,namespaces={a,b}")
	require.NoError(t, err, out)
	require.Contains(t, out, "namespaceSelector: {matchNames: [\"a\",\"b\"]}\n")
	require.NotContains(t, out, "--progress-addr", "token reviews are a right for the whole cluster")
	require.NotContains(t, out, "8443")
	out, err = template("--set=env[0].name=OTEL_EXPORTER_OTLP_ENDPOINT,env[0].value=http://collector:4318")
	require.NoError(t, err, out)
	require.Contains(t, out, "        - name: OTEL_EXPORTER_OTLP_ENDPOINT\n          value: http://collector:4318\n")
	out, err = template("--set=serveKubeflow=dry-run,namespaces={a,b}")
	require.NoError(t, err, out)
	require.Contains(t, out, "- --serve-kubeflow=dry-run\n")
	require.Equal(t, 2, strings.Count(out, "kind: Role\nmetadata:\n  labels:\n    app.kubernetes.io/component: controller\n    app.kubernetes.io/part-of: muster\n  name: muster-controller-kubeflow\n"))
	require.NotContains(t, out, "ClusterRole", "the label of a namespace is not read either")
	out, err = template("--set=serveKubeflow=on")
	require.NoError(t, err, out)
	require.Contains(t, out, "- --serve-kubeflow=on\n")
	require.Contains(t, out, "name: muster-controller-namespaces\n")
	out, err = template("--set=crd=false")
	require.NoError(t, err, out)
	require.NotContains(t, out, "CustomResourceDefinition")
	require.Contains(t, out, "kind: ClusterRoleBinding")
	for set, want := range map[string]string{
		"replica=2":                   "additional properties 'replica' not allowed",
		"image.repository=x":          "additional properties 'repository' not allowed",
		"image.digest.controller=abc": "'abc' does not match pattern",
		"image.registry=r.example/":   "does not match pattern",
		"namespaces=a":                "got string, want array",
		"serveKubeflow=maybe":         "value must be one of",
		"replicas=two":                "got string, want integer",
		"env[0].value=x":              "missing property 'name'",
		"resources.limit.memory=1Gi":  "additional properties 'limit' not allowed",
	} {
		out, err = template("--set=" + set)
		require.Error(t, err, set)
		require.Contains(t, out, want, set)
	}
	out, err = helm(t, "template", "muster", chartDir, "--kube-version=1.29")
	require.Error(t, err)
	require.Contains(t, out, "chart requires kubeVersion: >=1.30.0-0")
}

// TestUpgrade checks that Helm takes over an installation from a file. A job runs while the chart's values change. An
// upgrade whose image cannot be pulled does not stop the running controller, and is rolled back.
func TestUpgrade(t *testing.T) {
	require.NoError(t, clean())
	in := newSpace(t, "upgrade") // a namespace that is restricted
	shows(in, in.name)
	old, args := file(t), []string{"install", "muster", chartDir, "-n", in.name}
	old.install(t)
	old.uninstall(t)
	out, err := helm(t, args...)
	require.Error(t, err, "the CRD is not Helm's")
	require.Contains(t, out, "invalid ownership metadata")
	w := chart(t, in.name, "--take-ownership", "--set=replicas=1")
	w.install(t)
	deployment := func() (d appsv1.Deployment) {
		require.NoError(t, json.Unmarshal([]byte(in.kubectl("get", "deployment", "muster-controller", "-o", "json")), &d))
		return d
	}
	in.launch("through", "mpirun", "sh", "-c", "echo waits; until [ -e /tmp/go ]; do sleep 0.2; done")
	in.until(launchLimit, "through is Running", func() bool { return in.status("through").Phase == "Running" })
	upgrade := func(args ...string) (string, error) {
		return helm(t, append([]string{"upgrade", "muster", chartDir, "-n", in.name, "--reuse-values"}, args...)...)
	}
	out, err = upgrade("--wait", "--timeout=100s", "--set=replicas=2,resources.requests.cpu=20m")
	require.NoError(t, err, out)
	require.Contains(t, out, "localhost/muster-agent:dev", "the notes list the images")
	d := deployment()
	require.EqualValues(t, 2, d.Status.ReadyReplicas)
	require.Equal(t, "20m", d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String())
	require.Empty(t, sharedNode(in), "both pods are on the same node")

	out, err = upgrade("--set=image.tag=never")
	require.NoError(t, err, out)
	in.until(time.Minute, "the new pod is waiting for its image", func() bool {
		return strings.Contains(in.kubectl("get", "pods", "-l", controllerPods), "Init:")
	})
	in.launch("meanwhile", "mpirun", "/opt/muster-test/hello")
	in.succeeds("meanwhile")
	mustHelm(t, "rollback", "muster", "-n", in.name, "--wait", "--timeout=100s")
	require.Equal(t, "localhost/muster-controller:dev", deployment().Spec.Template.Spec.Containers[0].Image)

	in.letGo("through")
	in.succeeds("through")
	require.EqualValues(t, 1, in.status("through").Attempt)
	measured(in)
	w.uninstall(t)
}

// sharedNode returns the node if both controllers are on the same one.
func sharedNode(s space) string {
	pods := s.pods(controllerPods)
	if len(pods) == 2 && pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		return pods[0].Spec.NodeName
	}
	return ""
}

// measured checks the probes and the metrics of the leader, after a job that it
// has managed from start to end.
func measured(s space) {
	t := s.t
	s.launch("counted", "mpirun", "/opt/muster-test/hello")
	s.succeeds("counted")
	leader, _ := s.leader()
	for _, pod := range s.pods(controllerPods) {
		for _, path := range []string{"/healthz", "/readyz"} {
			require.Equal(t, "ok", fetch(t, "http://"+pod.Status.PodIP+":8081"+path))
		}
		if pod.Name != leader {
			continue
		}
		text := fetch(t, "http://"+pod.Status.PodIP+":8080/metrics")
		for _, series := range []string{
			`muster_jobs_total{outcome="Succeeded"} `, `muster_job_launch_seconds_count{phase="scheduling"} `, `muster_job_launch_seconds_count{phase="starting"} `,
			`controller_runtime_reconcile_total{controller="launchjob",result="success"} `, `leader_election_master_status{name="muster-controller"} 1`,
			`workqueue_depth{`, `rest_client_requests_total{`, `process_resident_memory_bytes `,
		} {
			require.Contains(t, text, "\n"+series)
		}
	}
}

// fetch gets a URL of a pod. This machine reaches pods by their addresses.
func fetch(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	return string(text)
}

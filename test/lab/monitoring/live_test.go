//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	space  = "monitoring"
	system = "muster-system"
	node   = "node1"
	// label is that of the node on which the second worker must be. It waits until the node has it.
	label = "muster.dev/test-monitoring"
)

// TestEveryPanelHasData plays a job that waits, fails, restarts and loses a link, while a real Prometheus scrapes its
// launcher and the controller. Then each query of each panel must have a number.
func TestEveryPanelHasData(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, kube.Cluster())
	require.NoError(t, kube.Controller(ctx, "../../../images/deploy", "monitoring"))
	kubectl := func(args ...string) string {
		out, err := kube.Kubectl(ctx, space, nil, args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	require.NoError(t, kube.Open(ctx, space, "muster.dev/test"))
	t.Cleanup(func() {
		last := context.WithoutCancel(ctx)
		_, err := kube.Kubectl(last, "", nil, "delete", "namespace", space, "--wait=false")
		require.NoError(t, err)
		_, err = kube.Kubectl(last, "", nil, "label", "node", node, label+"-")
		require.NoError(t, err)
	})
	proxy := started(t, kube.Path(), "proxy", "--port=0")
	prometheus := scraping(t, proxy, leader(t))
	require.NoError(t, kube.Apply(ctx, space, job(t)))
	has := func(what, query string) {
		t.Helper()
		require.Eventually(t, func() bool { return len(values(t, prometheus, query)) > 0 }, 3*time.Minute, time.Second, "%s: no data of %s", what, query)
	}
	has("while the job waits", `muster_workers_waiting{reason="Unschedulable"} > 0`)
	kubectl("label", "node", node, label+"=true")
	has("after the first attempt", `muster_attempts_total{cause="failed"} > 0`)
	_, _ = kube.Kubectl(ctx, space, nil, "exec", "panels-worker-0", "--", "sh", "-c", `kill $(grep -lz "^attach$" /proc/[0-9]*/cmdline | cut -d/ -f3)`)
	has("after a lost link", `muster_link_redial_seconds_count > 0`)
	short := job(t)
	short.Name = "short"
	short.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"true"}
	require.NoError(t, kube.Apply(ctx, space, short))
	has("after a job that has ended", "muster_jobs_goodput_seconds_total > 0")
	time.Sleep(20 * time.Second) // a rate needs several samples
	for name, rows := range map[string][]row{"fleet": fleet(), "job": one()} {
		for _, r := range rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					query := strings.NewReplacer("$namespace", ".*", "$pod", ".*", "$__rate_interval", "1m").Replace(q.expr)
					if len(values(t, prometheus, query)) == 0 {
						had := values(t, prometheus, "last_over_time(("+query+")[5m:5s])")
						require.NotEmpty(t, had, "%s: panel %q has no data: %s", name, p.title, query)
					}
				}
			}
		}
	}
}

// job returns a job whose second worker waits for a node, and whose first attempt fails.
func job(t *testing.T) *v1alpha1.LaunchJob {
	text, err := os.ReadFile("../../e2e/manifests/launchjob.yaml")
	require.NoError(t, err)
	j := &v1alpha1.LaunchJob{}
	require.NoError(t, yaml.UnmarshalStrict(text, j))
	j.Name, j.Spec.Framework = "panels", "plain"
	j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 1}
	within := v1alpha1.Time("10m")
	j.Spec.Progress = []v1alpha1.ProgressRule{{Expect: `step (\d+)`, Within: &within}}
	launcher := &j.Spec.Launcher.Template.Spec.Containers[0]
	launcher.Command = []string{"sh", "-c", `for i in $(seq $((10 + 290 * MUSTER_ATTEMPT))); do echo "step $i"; sleep 1; done; exit 3`}
	launcher.Env = append(launcher.Env, corev1.EnvVar{Name: "MUSTER_METRICS_ADDR", Value: ":9090"}, corev1.EnvVar{Name: "MUSTER_RESTART_ON", Value: "3"})
	j.Spec.Roles[0].Template.Spec.NodeSelector = map[string]string{label: "true"}
	return j
}

// leader returns the name of the controller's pod that leads. A pod that ends, after Controller has replaced it, may
// hold the lease still.
func leader(t *testing.T) string {
	var name string
	require.Eventually(t, func() bool {
		holder, err := kube.Kubectl(t.Context(), system, nil, "get", "lease", "muster-controller", "-o", "jsonpath={.spec.holderIdentity}")
		if err != nil || holder == "" {
			return false
		}
		name, _, _ = strings.Cut(holder, "_")
		ends, err := kube.Kubectl(t.Context(), system, nil, "get", "pod", name, "-o", "jsonpath={.metadata.deletionTimestamp}")
		return err == nil && ends == ""
	}, time.Minute, time.Second)
	return name
}

// started starts a program whose first line ends with the address that it serves.
func started(t *testing.T, path string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), path, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 200)
	n, err := out.Read(line)
	require.NoError(t, err)
	words := strings.Fields(string(line[:n]))
	return words[len(words)-1]
}

// scraping starts a Prometheus that scrapes the controller and the job's launcher through the API server. It returns
// its address.
func scraping(t *testing.T, proxy, controller string) string {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	target := func(job, namespace, pod, port string) string {
		return fmt.Sprintf("- job_name: %s\n  metrics_path: /api/v1/namespaces/%s/pods/%s:%s/proxy/metrics\n  static_configs: [{targets: ['%s'], labels: {namespace: %s, pod: %s}}]\n",
			job, namespace, pod, port, proxy, namespace, pod)
	}
	config := "global: {scrape_interval: 2s}\nscrape_configs:\n" + target("controller", system, controller, "8080") + target("launcher", space, "panels-launcher", "9090")
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	require.NoError(t, cmd.Start(), "it is in Debian's package prometheus: make deps")
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return address
}

// values returns the numbers of a query now.
func values(t *testing.T, prometheus, query string) (all []string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+prometheus+"/api/v1/query?query="+url.QueryEscape(query), nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil // it has not started yet
	}
	defer answer.Body.Close()
	var got struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	if json.NewDecoder(answer.Body).Decode(&got) != nil || answer.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	require.Equal(t, "success", got.Status, "%s: %s", query, got.Error)
	for _, one := range got.Data.Result {
		if text := fmt.Sprint(one.Value[1]); text != "NaN" {
			all = append(all, text)
		}
	}
	return all
}

//go:build e2e

package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	// owner labels the namespaces of these tests.
	owner = "muster.dev/install"
	// system is where images/deploy puts the controller.
	system = "muster-system"
	kind   = "launchjobs.muster.dev"
	// component selects all installed objects except the CRD.
	component = "app.kubernetes.io/component=controller"
)

func TestMain(m *testing.M) {
	err := prepare()
	code := 1
	if err == nil {
		code = m.Run()
		err = clean()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "install: "+err.Error())
		code = 1
	}
	os.Exit(code)
}

// prepare removes everything that an earlier run or another suite left behind.
func prepare() error {
	if err := kube.Cluster(); err != nil {
		return err
	}
	if err := refuseForeignJobs(); err != nil {
		return err
	}
	return clean()
}

// refuseForeignJobs returns an error if the cluster has jobs of other users, which would lose their controller.
func refuseForeignJobs() error {
	if _, err := kubectl("get", "crd", kind); err != nil {
		return nil // no kind, so there are no jobs
	}
	list, err := kubectl("get", "launchjobs", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}`)
	if err != nil {
		return err
	}
	// Namespaces that are being deleted do not count.
	others, err := kubectl("get", "namespaces", "-l", "!"+owner, "--field-selector=status.phase=Active", "-o", `jsonpath={range .items[*]}/{.metadata.name}/ {end}`)
	if err != nil {
		return err
	}
	for _, job := range strings.Fields(list) {
		namespace, _, _ := strings.Cut(job, "/")
		if strings.Contains(others, "/"+namespace+"/") {
			return fmt.Errorf("the cluster has the job %s: this test would delete the controller, the CRD and all jobs", job)
		}
	}
	return nil
}

// clean removes the controller, however it was installed, the kind, and the tests'
// namespaces.
func clean() error {
	var all error
	for _, args := range [][]string{
		{"delete", "namespace", "-l", owner, "--ignore-not-found", "--wait=false"},
		{"delete", "namespace", system, "--ignore-not-found"},
		{"delete", "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding", "-l", component, "--ignore-not-found"},
		{"delete", "clusterrole,clusterrolebinding", "muster-controller", "--ignore-not-found"}, // releases without the label
		{"delete", "crd", kind, "--ignore-not-found"},
		{"wait", "--for=delete", "namespace", "-l", owner, "--timeout=60s"},
	} {
		_, err := kubectl(args...)
		all = errors.Join(all, err)
	}
	return all
}

// kubectl runs kubectl without a namespace, as a new user does.
func kubectl(args ...string) (string, error) { return kubectlWith(nil, args...) }

func kubectlWith(stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return kube.Program(ctx, stdin, kube.Path(), args...)
}

var built sync.Mutex

// helmPath returns the path of Helm, which is built from its module once for each version, next to the cluster's other
// programs.
func helmPath(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	m := program.Module{Dir: "../helm", Path: "helm.sh/helm/v3", Name: "helm", Commands: []string{"cmd/helm"}, Stamp: "helm.sh/helm/v3/internal/version.version"}
	dir, err := m.Build(t.Context())
	require.NoError(t, err)
	return filepath.Join(dir, "helm")
}

// helm runs Helm with directories of its own, so that no user's settings apply.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), helmPath(t), args...)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustHelm runs Helm, and fails the test if Helm fails.
func mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, args...)
	require.NoError(t, err, "helm %v\n%s", args, out)
	return out
}

// space is a namespace of a test.
type space struct {
	t    *testing.T
	name string
}

// newSpace creates a namespace that admits only restricted pods.
func newSpace(t *testing.T, name string) space {
	t.Helper()
	s := space{t, "install-" + name + "-" + strings.ToLower(rand.Text()[:5])}
	s.apply(corev1.Namespace{TypeMeta: kube.Kind("v1", "Namespace"), ObjectMeta: kube.Named(s.name)})
	s.kubectl("label", "namespace", s.name, owner+"=test", "pod-security.kubernetes.io/enforce=restricted")
	t.Cleanup(func() {
		if t.Failed() {
			s.show()
		}
		_, err := kubectl("delete", "namespace", s.name, "--wait=false", "--ignore-not-found") // clean has deleted those of an outer test
		require.NoError(t, err)
	})
	s.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return s
}

func (s space) try(stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	return kube.Kubectl(ctx, s.name, stdin, args...)
}

func (s space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.try(nil, args...)
	require.NoError(s.t, err)
	return out
}

func (s space) apply(object any) {
	s.t.Helper()
	text, err := json.Marshal(object)
	require.NoError(s.t, err)
	_, err = s.try(text, "apply", "-f", "-")
	require.NoError(s.t, err)
}

// launch applies the job of test/e2e/manifests with a name and a command.
func (s space) launch(name string, command ...string) { s.deliver("baked", name, command...) }

// deliver is like launch, with another delivery of the agent.
func (s space) deliver(delivery, name string, command ...string) {
	s.t.Helper()
	text, err := os.ReadFile("../../../e2e/manifests/launchjob.yaml")
	require.NoError(s.t, err)
	var job map[string]any
	require.NoError(s.t, yaml.Unmarshal(text, &job))
	job["metadata"].(map[string]any)["name"] = name
	job["spec"].(map[string]any)["agent"] = map[string]any{"delivery": delivery}
	template := job["spec"].(map[string]any)["launcher"].(map[string]any)["template"].(map[string]any)
	template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["command"] = command
	s.apply(job)
}

func (s space) status(name string) v1alpha1.LaunchJobStatus {
	s.t.Helper()
	var job v1alpha1.LaunchJob
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("get", "launchjob", name, "-o", "json")), &job))
	return job.Status
}

// until calls ok repeatedly until it returns true, and fails the test after limit.
func (s space) until(limit time.Duration, what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
		require.False(s.t, time.Now().After(deadline), "%s: not within %s", what, limit)
	}
}

// succeeds waits until a job has succeeded.
func (s space) succeeds(name string) {
	s.t.Helper()
	s.until(2*time.Minute, name+" is over", func() bool { return s.status(name).CompletionTime != nil })
	status := s.status(name)
	require.Equal(s.t, v1alpha1.PhaseSucceeded, status.Phase, "%s: %s", status.Reason, status.Message)
}

// pods returns the pods that selector selects.
func (s space) pods(selector string) []corev1.Pod {
	s.t.Helper()
	var list corev1.PodList
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("get", "pods", "-l", selector, "-o", "json")), &list))
	return list.Items
}

// letGo lets the ranks of a job end that wait for /tmp/go on their workers. The launcher, in which nothing waits,
// may end before a command in it does.
func (s space) letGo(job string) {
	s.t.Helper()
	for _, pod := range s.pods("muster.dev/job=" + job + ",muster.dev/role=worker") {
		s.kubectl("exec", pod.Name, "--", "touch", "/tmp/go")
	}
}

// show logs the state of the namespace.
func (s space) show() {
	for _, args := range [][]string{
		{"get", "launchjobs,pods,deployments,leases", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "-l", controllerPods, "--all-containers", "--tail=40", "--prefix"},
	} {
		out, err := kubectl(append([]string{"-n", s.name}, args...)...)
		s.t.Logf("--- kubectl -n %s %s\n%s%v", s.name, strings.Join(args, " "), out, err)
	}
}

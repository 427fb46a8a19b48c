//go:build e2e

package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
)

const (
	controllerPods = "app.kubernetes.io/name=muster-controller"
	// The registry in the manual, and the registry of images/build.sh that replaces it in the tests.
	manuals, here = "registry.example.com/muster", "localhost"
)

// way is a way to install and uninstall, with the manual's commands.
type way struct {
	name               string
	install, uninstall func(t *testing.T)
}

// TestWays starts on a cluster without the LaunchJob kind. It checks that a job runs to its end, and that another
// job continues without a controller until the next one takes it over.
func TestWays(t *testing.T) {
	var went []float64
	for _, w := range []way{file(t), kustomize(t), chart(t, system)} {
		t.Run(w.name, func(t *testing.T) {
			require.NoError(t, clean())
			w.install(t)
			s := newSpace(t, w.name)
			shows(s, system)
			s.launch("short", "mpirun", "/opt/muster-test/hello")
			s.succeeds("short")
			require.Equal(t, 4, strings.Count(s.kubectl("logs", "short-launcher"), " of 4 on "), "number of ranks")
			goesOn(s, w)
			went = append(went, 1)
		})
	}
	record(t, figure.Row{Name: "ways to install with which a job continued without the controller", Op: "==", Bar: 3},
		figure.Series{Unit: "ways", Samples: went, Reduce: "sum"})
}

// goesOn removes the controller while a job runs, and installs it again.
func goesOn(s space, w way) {
	t := s.t
	s.launch("long", "mpirun", "sh", "-c", "echo waits; until [ -e /tmp/go ]; do sleep 0.2; done; echo went on")
	s.until(launchLimit, "all ranks wait", func() bool {
		out, _ := s.try(nil, "logs", "long-launcher") // the log may not exist yet
		return strings.Count(out, "waits") == 4
	})
	s.until(launchLimit, "long is Running", func() bool { return s.status("long").Phase == v1alpha1.PhaseRunning })
	before := s.pods("muster.dev/job=long")
	require.Len(t, before, 3)

	w.uninstall(t)
	_, err := kubectl("wait", "--for=delete", "pods", "-n", system, "-l", controllerPods, "--timeout=60s")
	require.NoError(t, err)
	out, err := kubectl("get", "deployments,serviceaccounts,roles,rolebindings", "-A", "-l", component, "-o", "name")
	require.NoError(t, err)
	require.Empty(t, out, "objects left after uninstalling")
	out, err = kubectl("get", "clusterroles,clusterrolebindings", "-l", component, "-o", "name")
	require.NoError(t, err)
	require.Empty(t, out, "objects left after uninstalling")
	s.letGo("long")
	s.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/long-launcher", "--timeout=60s")
	require.Equal(t, 4, strings.Count(s.kubectl("logs", "long-launcher"), "went on"), "number of ranks")
	require.Equal(t, v1alpha1.PhaseRunning, s.status("long").Phase, "the status was written without a controller")

	w.install(t)
	s.succeeds("long")
	require.EqualValues(t, 1, s.status("long").Attempt)
	for _, pod := range s.pods("muster.dev/job=long") {
		for _, old := range before {
			require.False(t, pod.Name == old.Name && pod.UID != old.UID, "%s was created again", pod.Name)
		}
	}
	w.uninstall(t)
	require.Equal(t, v1alpha1.PhaseSucceeded, s.status("short").Phase)
}

// file returns the way with images/install.yaml and the manual's sed command.
func file(t *testing.T) way {
	text, err := os.ReadFile("../../../../images/install.yaml")
	require.NoError(t, err)
	return way{"file",
		func(t *testing.T) {
			_, err := kubectlWith([]byte(strings.ReplaceAll(string(text), "ghcr.io/musterhq", here)), "apply", "-f", "-")
			require.NoError(t, err)
			rolledOut(t, system)
		},
		func(t *testing.T) {
			_, err := kubectlWith(text, "delete", "-f", "-", "-l", component)
			require.NoError(t, err)
		},
	}
}

// kustomize returns the way with the overlay in the manual.
func kustomize(t *testing.T) way {
	manual, err := os.ReadFile("../../../../docs/operations/install.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n([^`]*\nkind: Kustomization\n[^`]*)```").FindSubmatch(manual)
	require.NotNil(t, block, "docs/operations/install.md has no overlay")
	dir := overlay(t, string(block[1]))
	return way{"kustomize",
		func(t *testing.T) {
			_, err := kubectl("apply", "-k", dir)
			require.NoError(t, err)
			rolledOut(t, system)
		},
		func(t *testing.T) {
			_, err := kubectl("delete", "-k", dir, "-l", component)
			require.NoError(t, err)
		},
	}
}

// overlay writes a kustomization that refers to images/deploy into a directory
// of the test.
func overlay(t *testing.T, text string) string {
	deploy, err := filepath.Abs("../../../../images/deploy")
	require.NoError(t, err)
	dir := t.TempDir()
	back, err := filepath.Rel(dir, deploy) // kustomize requires relative paths
	require.NoError(t, err)
	text = strings.NewReplacer("../deploy", back, manuals, here).Replace(text)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	return dir
}

// chart returns the way with images/chart, as the release muster in a namespace.
func chart(t *testing.T, namespace string, set ...string) way {
	return way{"helm",
		func(t *testing.T) {
			args := []string{"install", "muster", chartDir, "-n", namespace, "--create-namespace", "--wait", "--timeout=100s", "--set=image.registry=" + here}
			mustHelm(t, append(args, set...)...)
		},
		func(t *testing.T) { mustHelm(t, "uninstall", "muster", "-n", namespace, "--wait", "--timeout=60s") },
	}
}

// rolledOut waits until the controller is rolled out.
func rolledOut(t *testing.T, namespace string) {
	t.Helper()
	_, err := kubectl("-n", namespace, "rollout", "status", "deployment/muster-controller", "--timeout=100s")
	if err != nil {
		space{t, namespace}.show()
	}
	require.NoError(t, err)
}

// shows also logs the controller's side if the test fails.
func shows(s space, namespace string) {
	s.t.Cleanup(func() {
		if s.t.Failed() {
			space{s.t, namespace}.show()
		}
	})
}

// record records a figure of make e2e-install, and fails the test if it misses its bar.
func record(t *testing.T, row figure.Row, raw figure.Series) {
	t.Helper()
	recordAs(t, "make e2e-install", row, raw)
}

// recordAs writes a figure that a command shows.
func recordAs(t *testing.T, command string, row figure.Row, raw figure.Series) {
	t.Helper()
	dir, err := figure.Dir()
	require.NoError(t, err)
	kept, err := figure.Keep(dir, command, "install-"+regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(row.Name), "-"), raw, row)
	require.NoError(t, err)
	t.Log(kept)
	require.NoError(t, figure.Missed(kept))
}

//go:build e2e && release

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/lab/release/serve"
	"github.com/musterhq/muster/test/suite/figure"
)

// hostIP is this machine's address in the network of the nodes.
const hostIP = "198.19.255.1"

// released is a directory that make release created.
type released struct {
	dir     string
	number  string            // digests of the images, by name
	digests map[string]string // of the images, by name
}

// TestRelease installs a release by file, kustomize and Helm on nodes that can pull from only one registry.
// It upgrades to the next release and rolls back, while a job runs.
func TestRelease(t *testing.T) {
	before, after := open(t, "MUSTER_RELEASE_BEFORE"), open(t, "MUSTER_RELEASE")
	require.NotEqual(t, before.digests, after.digests)
	registry, end, err := serve.Start(t.Context(), os.Getenv("MUSTER_REGISTRY"), hostIP, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	for _, r := range []released{before, after} {
		r.push(t, registry)
	}
	only(t, strings.TrimSuffix(registry.Path, "/musterhq"))
	var went []float64
	for _, w := range []struct {
		name              string
		install, rollback func(r released) // install upgrades, too
		uninstall         func()
	}{
		{"file", func(r released) { r.apply(t, "-f", "install.yaml") }, func(r released) { r.apply(t, "-f", "install.yaml") },
			func() { before.kubectl(t, "delete", "-l", component, "-f", "install.yaml") }},
		{"kustomize", func(r released) { r.apply(t, "-k", "muster-kustomize/deploy") }, func(r released) { r.apply(t, "-k", "muster-kustomize/deploy") },
			func() { before.kubectl(t, "delete", "-l", component, "-k", "muster-kustomize/deploy") }},
		{"helm", func(r released) {
			mustHelm(t, "upgrade", "--install", "muster", "oci://"+registry.Path+"/charts/muster", "--plain-http", "--version", r.number,
				"-n", system, "--create-namespace", "--wait", "--timeout=100s")
		}, func(released) { mustHelm(t, "rollback", "muster", "-n", system, "--wait", "--timeout=100s") },
			func() { mustHelm(t, "uninstall", "muster", "-n", system, "--wait", "--timeout=60s") }},
	} {
		t.Run(w.name, func(t *testing.T) {
			require.NoError(t, clean())
			s := newSpace(t, "release-"+w.name)
			shows(s, system)
			w.install(before)
			before.runs(s)
			s.deliver("init", "long", "mpirun", "sh", "-c", "echo waits; until [ -e /tmp/go ]; do sleep 0.2; done; echo went on")
			s.until(launchLimit, "all ranks wait", func() bool {
				out, _ := s.try(nil, "logs", "long-launcher") // the log may not exist yet
				return strings.Count(out, "waits") == 4
			})
			w.install(after)
			after.runs(s)
			s.deliver("init", "upgraded", "mpirun", "/opt/muster-test/hello")
			s.succeeds("upgraded")
			after.delivered(s, "upgraded")
			w.rollback(before)
			before.runs(s)
			s.deliver("init", "back", "mpirun", "/opt/muster-test/hello")
			s.succeeds("back")
			before.delivered(s, "back")
			for _, pod := range s.pods("muster.dev/job=long") {
				s.kubectl("exec", pod.Name, "--", "touch", "/tmp/go")
			}
			s.succeeds("long")
			require.EqualValues(t, 1, s.status("long").Attempt)
			w.uninstall()
			went = append(went, 1)
		})
	}
	record(t, figure.Row{Name: "ways to install a release from a registry, to upgrade it and to roll it back", Op: "==", Bar: 3},
		figure.Series{Unit: "ways", Samples: went, Reduce: "sum"})
}

// open unpacks the release in the directory that a variable names.
func open(t *testing.T, variable string) released {
	t.Helper()
	r := released{dir: os.Getenv(variable), digests: map[string]string{}}
	text, err := os.ReadFile(filepath.Join(r.dir, "install.yaml"))
	require.NoError(t, err, "%s must name the directory of a release", variable)
	for _, found := range regexp.MustCompile(`/(muster-\w+)@(sha256:\w+)`).FindAllStringSubmatch(string(text), -1) {
		r.digests[found[1]] = found[2]
	}
	require.Len(t, r.digests, 2)
	charts, err := filepath.Glob(filepath.Join(r.dir, "muster-chart_*.tgz"))
	require.NoError(t, err)
	require.Len(t, charts, 1)
	r.number = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "muster-chart_"), ".tgz")
	unpacked := t.TempDir()
	for _, name := range []string{"muster-kustomize_" + r.number + ".tar.gz", "muster-images_" + r.number + ".tar"} {
		out, err := exec.CommandContext(t.Context(), "tar", "-xf", filepath.Join(r.dir, name), "-C", unpacked).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(unpacked, "install.yaml"), text, 0o600))
	r.dir = unpacked
	return r
}

// push copies images and chart from the released layout to a registry.
func (r released) push(t *testing.T, registry oci.Registry) {
	t.Helper()
	layout, err := oci.Open(r.dir, time.Time{}, nil)
	require.NoError(t, err)
	for name, tag := range map[string]string{"muster-agent": "v" + r.number, "muster-controller": "v" + r.number, "charts/muster": r.number} {
		require.NoError(t, layout.Push(t.Context(), registry, name, tag))
	}
}

func (r released) kubectl(t *testing.T, args ...string) {
	t.Helper()
	path := args[len(args)-1]
	_, err := kubectl(append(args[:len(args)-1:len(args)-1], filepath.Join(r.dir, path))...)
	require.NoError(t, err)
}

// apply applies a part of the release, and waits for the controller.
func (r released) apply(t *testing.T, flag, path string) {
	t.Helper()
	r.kubectl(t, "apply", flag, path)
	rolledOut(t, system)
}

// runs checks that the controller's pods use the image of this release.
func (r released) runs(s space) {
	s.t.Helper()
	s.until(time.Minute, "only pods of "+r.number, func() bool {
		pods := space{s.t, system}.pods(controllerPods)
		for _, pod := range pods {
			if !strings.HasSuffix(pod.Spec.Containers[0].Image, r.digests["muster-controller"]) {
				return false
			}
		}
		return len(pods) > 0
	})
}

// delivered checks that a job uses the agent of this release.
func (r released) delivered(s space, job string) {
	s.t.Helper()
	for _, pod := range s.pods("muster.dev/job=" + job) {
		require.NotEmpty(s.t, pod.Spec.InitContainers)
		require.True(s.t, strings.HasSuffix(pod.Spec.InitContainers[0].Image, r.digests["muster-agent"]), "%s", pod.Spec.InitContainers[0].Image)
	}
}

// only makes the nodes' containerd pull all images from one registry. containerd reads these
// files at each pull.
func only(t *testing.T, address string) {
	t.Helper()
	hosts := "server = \"http://" + address + "\"\n[host.\"http://" + address + "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	for _, node := range []string{"node1", "node2"} {
		dir := filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "nodes", node, "certs.d", "_default")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(hosts), 0o600))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	}
}

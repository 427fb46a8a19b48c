//go:build e2e && release

package live

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/release/commands"
	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/lab/release/serve"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// hostIP is this machine's address in the network of the nodes.
const hostIP = "198.19.255.1"

// released is a directory that make release created.
type released struct {
	files   string            // the directory
	dir     string            // what users unpack of it
	number  string            // the version without the v
	digests map[string]string // of the images, by name
}

// releasedWay is a way to install a release on a cluster. install upgrades, too.
type releasedWay struct {
	name              string
	install, rollback func(r released)
	uninstall         func()
}

// TestRelease installs a release by file, kustomize and Helm on nodes that can pull from one registry
// only, upgrades it to the next release and rolls it back. A job runs all the time. Then krew and pip
// install the commands of these releases, which submit jobs.
func TestRelease(t *testing.T) {
	before, after := open(t, "MUSTER_RELEASE_BEFORE"), open(t, "MUSTER_RELEASE")
	for name, digest := range before.digests {
		require.NotEqual(t, digest, after.digests[name])
	}
	registry, end, err := serve.Start(t.Context(), os.Getenv("MUSTER_REGISTRY"), hostIP, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	for _, r := range []released{before, after} {
		r.push(t, registry)
	}
	only(t, strings.TrimSuffix(registry.Path, "/musterhq"))
	nothingElse(newSpace(t, "release-pull"))
	apply := func(flag, path string) releasedWay {
		install := func(r released) { r.apply(t, flag, path) }
		return releasedWay{"", install, install, func() { before.kubectl(t, "delete", "-l", component, flag, path) }}
	}
	file, kustomize := apply("-f", "install.yaml"), apply("-k", "muster-kustomize/deploy")
	file.name, kustomize.name = "file", "kustomize"
	helm := releasedWay{"helm",
		func(r released) {
			mustHelm(t, "upgrade", "--install", "muster", "oci://"+registry.Path+"/charts/muster", "--plain-http", "--version", r.number,
				"-n", system, "--create-namespace", "--wait", "--timeout=100s")
		},
		func(released) { mustHelm(t, "rollback", "muster", "-n", system, "--wait", "--timeout=100s") },
		func() { mustHelm(t, "uninstall", "muster", "-n", system, "--wait", "--timeout=60s") },
	}
	var went []float64
	for _, w := range []releasedWay{file, kustomize, helm} {
		t.Run(w.name, func(t *testing.T) {
			there(t, w, before, after)
			went = append(went, 1)
		})
	}
	recordAs(t, "make e2e-release", figure.Row{Name: "ways to install a release from a registry, to upgrade it and to roll it back", Op: "==", Bar: 3},
		figure.Series{Unit: "ways", Samples: went, Reduce: "sum"})
	var submitted []float64
	t.Run("krew and pip", func(t *testing.T) { submitted = commandsOf(t, before, after) })
	recordAs(t, "make e2e-release", figure.Row{Name: "jobs submitted by what krew and pip installed of a release, of the next one, and of the first one again", Op: "==", Bar: 6},
		figure.Series{Unit: "jobs", Samples: submitted, Reduce: "sum"})
}

// there upgrades from before to after and back, in one way.
func there(t *testing.T, w releasedWay, before, after released) {
	require.NoError(t, clean())
	before.forget(t)
	after.forget(t)
	s := newSpace(t, "release-"+w.name)
	shows(s, system)
	w.install(before)
	before.runs(s)
	before.pulled(s)
	s.deliver("init", "long", "mpirun", "sh", "-c", "echo waits; until [ -e /tmp/go ]; do sleep 0.2; done; echo went on")
	s.until(launchLimit, "all ranks wait", func() bool {
		out, _ := s.try(nil, "logs", "long-launcher") // there may be none yet
		return strings.Count(out, "waits") == 4
	})
	s.until(launchLimit, "long is Running", func() bool { return s.status("long").Phase == v1alpha1.PhaseRunning })
	before.delivered(s, "long")
	untouched := s.kept("long")
	goesOn := func() {
		require.Equal(t, untouched, s.kept("long"))
		require.Equal(t, v1alpha1.PhaseRunning, s.status("long").Phase)
	}

	w.install(after)
	after.runs(s)
	after.pulled(s)
	s.deliver("init", "upgraded", "mpirun", "/opt/muster-test/hello")
	s.succeeds("upgraded")
	after.delivered(s, "upgraded")
	goesOn()

	w.rollback(before)
	before.runs(s)
	s.deliver("init", "back", "mpirun", "/opt/muster-test/hello")
	s.succeeds("back")
	before.delivered(s, "back")
	goesOn()

	s.letGo("long")
	s.succeeds("long")
	require.EqualValues(t, 1, s.status("long").Attempt)
	require.Equal(t, 4, strings.Count(s.kubectl("logs", "long-launcher"), "went on"), "ranks")
	w.uninstall()
	_, err := kubectl("wait", "--for=delete", "pods", "-n", system, "-l", controllerPods, "--timeout=60s")
	require.NoError(t, err)
	require.Equal(t, v1alpha1.PhaseSucceeded, s.status("long").Phase, "uninstalling keeps jobs")
}

// submits is a program of Python for a namespace, an image and a name: it runs a job of two ranks.
const submits = `import importlib.metadata, sys, muster
space, image, name = sys.argv[1:]
job = muster.submit(name, image, ["sh", "-c", "echo rank $RANK"], workers=2, cluster=muster.Cluster(namespace=space))
result = job.wait(timeout=120)
assert result, result
print(importlib.metadata.version("muster-jobs"), sorted(rank for rank in job.logs() if rank is not None))
`

// commandsOf installs the plugin by krew and the package by pip, upgrades both and rolls them back, and
// submits a job with each. It returns a 1 for each job.
func commandsOf(t *testing.T, before, after released) (submitted []float64) {
	require.NoError(t, clean())
	s := newSpace(t, "release-commands")
	shows(s, system)
	s.kubectl("label", "namespace", s.name, "--overwrite", "pod-security.kubernetes.io/enforce=baseline") // the package asks for no user
	before.apply(t, "-f", "install.yaml")
	krew, err := commands.NewKrew(t.Context(), t.TempDir(), runtime.GOOS, runtime.GOARCH, "KUBECONFIG="+os.Getenv("KUBECONFIG"))
	require.NoError(t, err)
	python, err := commands.NewPython(t.Context(), t.TempDir())
	require.NoError(t, err)
	const image = "localhost/muster-openmpi:dev"
	for i, r := range []released{before, after, before} {
		if i > 0 {
			require.NoError(t, krew.Uninstall(t.Context(), "muster"))
		}
		archive := filepath.Join(r.files, "muster-client_"+r.number+"_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
		require.NoError(t, krew.Install(t.Context(), filepath.Join(r.files, "krew.yaml"), archive))
		said, err := krew.Kubectl(t.Context(), "muster", "version")
		require.NoError(t, err)
		require.Contains(t, said, "kubectl muster v"+r.number+" ")
		job := fmt.Sprintf("krew-%d", i)
		_, err = krew.Kubectl(t.Context(), "muster", "submit", "-n", s.name, "--name="+job, "--image="+image, "--workers=2", "--slots=2",
			"--restricted", "--run-as-user=1000", "--wait", "--timeout=2m", "--", "mpirun", "/opt/muster-test/hello")
		require.NoError(t, err)
		s.succeeds(job)
		require.Equal(t, 4, strings.Count(s.kubectl("logs", job+"-launcher"), " of 4 on "), "ranks")

		wheels, err := filepath.Glob(filepath.Join(r.files, "muster_jobs-*.whl"))
		require.NoError(t, err)
		require.Len(t, wheels, 1)
		require.NoError(t, python.Install(t.Context(), wheels[0]))
		job = fmt.Sprintf("pip-%d", i)
		said, err = python.Run(t.Context(), submits, s.name, image, job)
		require.NoError(t, err)
		require.Equal(t, r.number+" [0, 1]", said)
		s.succeeds(job)
		submitted = append(submitted, 1, 1)
	}
	before.kubectl(t, "delete", "-l", component, "-f", "install.yaml")
	return submitted
}

// open unpacks the release in the directory that a variable names.
func open(t *testing.T, variable string) released {
	t.Helper()
	r := released{files: os.Getenv(variable), dir: t.TempDir(), digests: map[string]string{}}
	text, err := os.ReadFile(filepath.Join(r.files, "install.yaml"))
	require.NoError(t, err, "%s is to be the directory of a release", variable)
	for _, found := range regexp.MustCompile(`/(muster-\w+)@(sha256:\w+)`).FindAllStringSubmatch(string(text), -1) {
		r.digests[found[1]] = found[2]
	}
	require.Len(t, r.digests, 2)
	charts, err := filepath.Glob(filepath.Join(r.files, "muster-chart_*.tgz"))
	require.NoError(t, err)
	require.Len(t, charts, 1)
	r.number = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "muster-chart_"), ".tgz")
	for _, name := range []string{"muster-kustomize_" + r.number + ".tar.gz", "muster-images_" + r.number + ".tar"} {
		out, err := exec.CommandContext(t.Context(), "tar", "-xf", filepath.Join(r.files, name), "-C", r.dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "install.yaml"), text, 0o600))
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
			if !strings.HasSuffix(pod.Spec.Containers[0].Image, "@"+r.digests["muster-controller"]) ||
				!strings.HasSuffix(pod.Spec.InitContainers[0].Image, "@"+r.digests["muster-agent"]) {
				return false
			}
		}
		return len(pods) > 0
	})
}

// forget removes the images of this release from the nodes, where an earlier run may have left them.
func (r released) forget(t *testing.T) {
	t.Helper()
	for _, dir := range nodes() {
		ctr := func(args ...string) string {
			args = append([]string{"node", "exec", filepath.Base(dir), "ctr", "--address", filepath.Join(dir, "containerd.sock"), "--namespace", "k8s.io", "images"}, args...)
			out, err := exec.CommandContext(t.Context(), os.Getenv("MUSTER_CLUSTER"), args...).CombinedOutput() // its ctr fits its containerd
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		for line := range strings.Lines(ctr("ls")) {
			words := strings.Fields(line) // its name, its type, its digest...
			if len(words) > 2 && slices.Contains(slices.Collect(maps.Values(r.digests)), words[2]) {
				ctr("rm", words[0])
			}
		}
	}
}

// pulled checks that nodes have pulled both images of this release since the controller's namespace was made.
func (r released) pulled(s space) {
	s.t.Helper()
	events, err := kubectl("get", "events", "-n", system, "--field-selector=reason=Pulled", "-o", `jsonpath={range .items[*]}{.message}{"\n"}{end}`)
	require.NoError(s.t, err)
	for name, digest := range r.digests {
		require.Contains(s.t, events, `Successfully pulled image "ghcr.io/musterhq/`+name+"@"+digest+`"`)
	}
}

// delivered checks that a job has the agent of this release.
func (r released) delivered(s space, job string) {
	s.t.Helper()
	pods := s.pods("muster.dev/job=" + job)
	require.NotEmpty(s.t, pods)
	for _, pod := range pods {
		require.NotEmpty(s.t, pod.Spec.InitContainers)
		require.True(s.t, strings.HasSuffix(pod.Spec.InitContainers[0].Image, "@"+r.digests["muster-agent"]), "%s", pod.Spec.InitContainers[0].Image)
	}
}

// kept returns the pods of a job by name: which they are, and how often their containers restarted.
func (s space) kept(job string) map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, pod := range s.pods("muster.dev/job=" + job) {
		all[pod.Name] = fmt.Sprintf("%s, %d restarts", pod.UID, pod.Status.ContainerStatuses[0].RestartCount)
	}
	require.Len(s.t, all, 3)
	return all
}

// nodes are the directories of the nodes of test/lab/cluster.
func nodes() (dirs []string) {
	for _, name := range []string{"node1", "node2"} {
		dirs = append(dirs, filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "nodes", name))
	}
	return dirs
}

// only has the nodes' containerd pull all images from a registry, and from nowhere else. It reads these
// files at each pull.
func only(t *testing.T, address string) {
	t.Helper()
	hosts := "server = \"http://" + address + "\"\n[host.\"http://" + address + "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	for _, node := range nodes() {
		dir := filepath.Join(node, "certs.d", "_default")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(hosts), 0o600))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	}
}

// nothingElse checks that a node asks the registry for an image of another one, and is told that there is none.
func nothingElse(s space) {
	pod := kube.Restricted("stranger", "stranger", "worker", "docker.io/library/busybox:1", nil)
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
	s.apply(pod)
	s.until(time.Minute, "the registry has no busybox", func() bool {
		out := s.kubectl("get", "events", "--field-selector=reason=Failed", "-o", `jsonpath={range .items[*]}{.message}{"\n"}{end}`)
		return strings.Contains(out, "docker.io/library/busybox:1: not found")
	})
	s.kubectl("delete", "pod", "stranger", "--wait=false")
}

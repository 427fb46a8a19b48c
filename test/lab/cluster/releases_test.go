package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVersionsMatchTheModules checks that each module pins the version that its directory's name says, and the
// programs that are built from it.
func TestVersionsMatchTheModules(t *testing.T) {
	versions := map[string]string{
		"coredns": "github.com/coredns/coredns " + corednsVersion, "containerd": "github.com/containerd/containerd/v2 " + containerdVersion,
		"runc": "github.com/opencontainers/runc " + runcVersion, "etcd": "go.etcd.io/etcd/server/v3 " + etcdVersion,
	}
	for _, r := range releases() {
		versions[filepath.Join("kube", r.minor)] = "k8s.io/kubernetes " + r.kubernetes
		if !strings.HasPrefix(r.kubernetes, "v"+r.minor+".") {
			t.Errorf("%s is not a version of %s", r.kubernetes, r.minor)
		}
		for _, m := range clusterOf("/base", r).modules() {
			mod := read(t, m.folder, "go.mod")
			if !regexp.MustCompile(regexp.QuoteMeta(versions[m.folder]) + `( // indirect)?\n`).MatchString(mod) {
				t.Errorf("%s/go.mod has no %q", m.folder, versions[m.folder])
			}
			for _, p := range m.packages {
				if p != "." && !strings.Contains(mod, "tool "+p+"\n") && !strings.Contains(mod, "\n\t"+p+"\n") {
					t.Errorf("%s/go.mod has no tool %s", m.folder, p)
				}
			}
		}
	}
	folders, err := filepath.Glob("kube/*/go.mod")
	if err != nil || len(folders) != len(releases()) {
		t.Errorf("modules %q, %v: each needs a row of releases", folders, err)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestChosen(t *testing.T) {
	for name, tc := range map[string]struct {
		verb    string // empty: up
		args    []string
		running string
		want    string // empty: a usage error
		rest    []string
	}{
		"nothing runs":           {want: defaultMinor},
		"keeps the running one":  {running: "/base/1.35", want: "1.35"},
		"an old state directory": {running: "/base", want: defaultMinor},
		"another than runs":      {args: []string{"--fast", "--kubernetes=1.34"}, running: "/base/1.35", want: "1.34", rest: []string{"--fast"}},
		"unknown":                {args: []string{"--kubernetes=1.33"}},
		"empty":                  {args: []string{"--kubernetes="}},
		"another verb's words":   {verb: "node", args: []string{"exec", "--kubernetes=1.34"}, running: "/base/1.36", want: "1.36", rest: []string{"exec", "--kubernetes=1.34"}},
		"other arguments stay":   {args: []string{"1.34"}, want: defaultMinor, rest: []string{"1.34"}},
	} {
		r, rest, err := chosen(cmp.Or(tc.verb, "up"), tc.args, tc.running)
		var usage usageError
		if r.minor != tc.want || !slices.Equal(rest, tc.rest) || errors.As(err, &usage) != (tc.want == "") {
			t.Errorf("%s: got %s, %q, %v", name, r.minor, rest, err)
		}
	}
}

// TestReleasesShareNoState checks that each release has its own directories and programs. So none reads what a newer one
// wrote. A cluster is found by its directory.
func TestReleasesShareNoState(t *testing.T) {
	dirs, kubelets := map[string]bool{}, map[string]bool{}
	for _, r := range releases() {
		c := clusterOf("/base", r)
		dirs[c.dir], kubelets[c.program("kubelet")] = true, true
		if found, err := clusterIn(c.dir); err != nil || found.release.kubernetes != r.kubernetes || found.base != "/base" {
			t.Errorf("%s: found %+v, %v", c.dir, found, err)
		}
		if !ours("/base", c.dir) || !ours("/base", filepath.Dir(c.kubeconfig())) || ours("/other", c.dir) {
			t.Errorf("%s is not taken for a directory of its own base alone", c.dir)
		}
	}
	if len(dirs) != len(releases()) || len(kubelets) != len(releases()) {
		t.Errorf("shared: %v %v", dirs, kubelets)
	}
	if _, err := clusterIn("/base"); err == nil {
		t.Error("a directory without a version is accepted")
	}
}

// TestProgramsOfEachRelease checks that the cluster starts the programs that it builds, or those of Debian's packages.
func TestProgramsOfEachRelease(t *testing.T) {
	for _, r := range releases() {
		c := clusterOf("/base", r)
		built := map[string]bool{}
		for _, m := range c.modules() {
			for _, name := range m.programs {
				built[filepath.Join(m.dir, name)] = true
			}
		}
		var argv [][]string
		for _, name := range controlPlane() {
			argv = append(argv, c.argv(name))
		}
		for _, p := range c.nodePrograms(nodes()[0]) {
			argv = append(argv, p.argv)
		}
		for _, a := range argv {
			if debian := filepath.Dir(a[0]) == "/usr/bin"; debian && c.needed()[a[0]] == "" || !debian && !built[a[0]] {
				t.Errorf("%s: %s is neither built nor in a package", r.minor, a[0])
			}
		}
		for component := range r.flags {
			if !slices.Contains(controlPlane(), component) {
				t.Errorf("%s: flags of %s, which is not a component", r.minor, component)
			}
		}
	}
}

package rules

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/musterhq/muster/"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// list runs go list for linux, whatever runs the test.
func list(t *testing.T, patterns ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, patterns...)...)
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		require.NoError(t, d.Decode(&p))
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

// leaf is the part of the tree that a package belongs to, "" for none.
func leaf(path string) string {
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return ""
	}
	for _, l := range []string{"agent/framework", "agent/group", "agent/metrics", "agent/retry", "rendezvous", "exec", "hostfile", "agent/launch", "agent/worker", "agent/join", "agent/names", "agent/api", "agent/controller", "agent/kubeflow", "agent/failure", "agent/submit", "agent/jobs", "agent/serve", "cmd", "test"} {
		if rest == l || strings.HasPrefix(rest, l+"/") {
			return l
		}
	}
	return "?"
}

func TestDataFlowsOneWay(t *testing.T) {
	leaves := []string{"agent/names"}
	roles := append([]string{"agent/framework", "rendezvous", "exec", "hostfile"}, leaves...)
	allowed := map[string][]string{
		"agent/names":      nil,
		"agent/failure":    leaves,
		"agent/framework":  leaves,
		"rendezvous":       leaves,
		"exec":             leaves,
		"hostfile":         nil,
		"agent/metrics":    leaves,
		"agent/retry":      leaves,
		"agent/group":      append([]string{"agent/framework", "exec"}, leaves...),
		"agent/launch":     append([]string{"agent/failure", "agent/group", "agent/metrics", "agent/retry"}, roles...),
		"agent/submit":     append([]string{"agent/api", "agent/failure", "agent/framework"}, leaves...),
		"agent/jobs":       append([]string{"agent/api", "agent/failure", "agent/metrics", "exec"}, leaves...),
		"agent/worker":     roles,
		"agent/join":       append([]string{"agent/worker", "agent/group", "agent/retry"}, roles...),
		"agent/api":        nil,
		"agent/controller": {"agent/api", "agent/framework", "agent/names", "agent/serve", "rendezvous"},
		"agent/kubeflow":   {"agent/api", "agent/framework", "agent/names"},
		"cmd":              append([]string{"agent/kubeflow", "agent/launch", "agent/worker", "agent/join", "agent/metrics", "agent/controller", "agent/api", "agent/failure", "agent/submit", "agent/jobs"}, roles...),
		"agent/serve":      {"agent/api", "agent/framework", "agent/kubeflow", "agent/names"},
	}
	for _, p := range list(t, module+"...") {
		from := leaf(p.ImportPath)
		if from == "test" {
			continue
		}
		ok, known := allowed[from]
		require.True(t, known, "%s has no place in the layout", p.ImportPath)
		for _, i := range p.Imports {
			to := leaf(i)
			if to == "" || to == from {
				continue
			}
			require.Contains(t, ok, to, "%s imports %s", p.ImportPath, i)
		}
	}
}

func TestTheSmallBinaryStaysSmall(t *testing.T) {
	forbidden := []string{"k8s.io/", "net/http", "google.golang.org/grpc", "go.uber.org/zap", "github.com/spf13/", "text/template", "html/template", "regexp"}
	for _, p := range list(t, module+"cmd/agent") {
		for _, d := range p.Deps {
			for _, f := range forbidden {
				require.False(t, d == strings.TrimSuffix(f, "/") || strings.HasPrefix(d, f), "cmd/agent depends on %s", d)
			}
			standard := !strings.Contains(strings.Split(d, "/")[0], ".")
			require.True(t, standard || strings.HasPrefix(d, module) || strings.HasPrefix(d, "golang.org/x/sys/"),
				"cmd/agent depends on %s: only the standard library and x/sys", d)
		}
	}
}

// TestKeyedHashesOnly: of cryptography the small binary has what proves a token,
// in one package: HMAC, SHA-256 and the kernel's random bytes. Their start-up costs
// less than 0.1 ms; that of TLS and certificates would be felt in each mpirun.
func TestKeyedHashesOnly(t *testing.T) {
	home, parts := module+"rendezvous/barrier", []string{"crypto/hmac", "crypto/rand", "crypto/sha256"}
	known := map[string]bool{}
	for _, p := range list(t, parts...) {
		known[p.ImportPath] = true
		for _, d := range p.Deps {
			known[d] = true
		}
	}
	for _, p := range list(t, "-deps", module+"cmd/agent") {
		if strings.HasPrefix(p.ImportPath, "crypto") {
			require.True(t, known[p.ImportPath], "cmd/agent depends on %s", p.ImportPath)
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "crypto/") && leaf(p.ImportPath) != "" {
				require.Equal(t, home, p.ImportPath, "it imports %s", i)
				require.Contains(t, parts, i)
			}
		}
	}
}

// TestTheBarrierStandsAlone: it is part of rendezvous and of the small binary, and
// shares nothing with the watch over pods.
func TestTheBarrierStandsAlone(t *testing.T) {
	for _, p := range list(t, module+"rendezvous/barrier") {
		for _, i := range p.Imports {
			require.True(t, leaf(i) == "" || leaf(i) == "agent/names", "it imports %s", i)
		}
	}
}

func TestOnlyTheirHomesImport(t *testing.T) {
	homes := map[string][]string{
		"github.com/hashicorp/go-plugin":       {"agent/framework"},
		"sigs.k8s.io/controller-runtime":       {"agent/controller", "agent/serve", "cmd"},
		"k8s.io/client-go/kubernetes":          {},
		"k8s.io/client-go/tools/remotecommand": {"exec"},
	}
	for _, p := range list(t, module+"...") {
		if leaf(p.ImportPath) == "test" {
			continue
		}
		for _, i := range p.Imports {
			for lib, ok := range homes {
				if i == lib || strings.HasPrefix(i, lib+"/") {
					require.Contains(t, ok, leaf(p.ImportPath), "%s imports %s", p.ImportPath, i)
				}
			}
		}
	}
	for _, p := range list(t, module+"cmd/agent", module+"cmd/launcher") {
		for _, d := range p.Deps {
			require.NotContains(t, []string{"agent/controller", "agent/serve"}, leaf(d), "%s carries the controller", p.ImportPath)
		}
	}
	for _, p := range list(t, module+"hostfile") {
		for _, d := range p.Imports {
			require.NotContains(t, d, ".", "hostfile uses the standard library only")
		}
	}
}

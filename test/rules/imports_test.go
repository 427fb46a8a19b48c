package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/rules/linked"
)

const module = linked.Module

func list(t *testing.T, patterns ...string) []linked.Package {
	t.Helper()
	all, err := linked.List(patterns...)
	require.NoError(t, err)
	return all
}

// leaf returns the part of the tree that a package belongs to, or "".
func leaf(path string) string {
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return ""
	}
	for _, l := range []string{"exec/deflate", "exec/names", "exec/shortage", "agent/archive", "agent/check", "agent/event", "agent/exporter", "agent/framework", "agent/goodput", "agent/group", "agent/lazyregexp", "agent/metrics", "agent/notice", "agent/progress", "agent/retry", "agent/settings", "agent/stacks", "agent/straggler", "agent/timeline", "agent/tracecontext", "agent/usage", "agent/trainer", "rendezvous", "exec", "hostfile", "agent/launch", "agent/worker", "agent/join", "agent/api", "agent/controller", "agent/kubeflow", "agent/failure", "agent/submit", "agent/jobs", "agent/doctor", "agent/serve", "agent/outfile", "cmd", "test"} {
		if rest == l || strings.HasPrefix(rest, l+"/") {
			return l
		}
	}
	return "?"
}

func TestDataFlowsOneWay(t *testing.T) {
	leaves := []string{"exec/deflate", "exec/names", "exec/shortage"}
	roles := append([]string{"agent/framework", "rendezvous", "exec", "hostfile"}, leaves...)
	allowed := map[string][]string{
		"exec/names":       nil,
		"exec/deflate":     nil,
		"exec/shortage":    nil,
		"agent/settings":   append([]string{"agent/retry"}, leaves...),
		"agent/failure":    append([]string{"agent/settings"}, leaves...),
		"agent/archive":    nil,
		"agent/check":      append([]string{"agent/failure", "exec"}, leaves...),
		"agent/event":      {"exec/names"},
		"agent/timeline":   {"agent/event"},
		"agent/trainer":    {"exec/names"},
		"agent/goodput":    {"agent/event", "agent/timeline"},
		"agent/straggler":  nil,
		"agent/usage":      {"agent/straggler"},
		"agent/exporter":   {"agent/event", "agent/failure", "agent/goodput", "exec/names", "agent/retry", "agent/timeline", "agent/tracecontext", "exec"},
		"agent/framework":  leaves,
		"rendezvous":       leaves,
		"exec":             leaves,
		"hostfile":         nil,
		"agent/lazyregexp": nil,
		"agent/metrics":    leaves,
		"agent/outfile":    nil,
		"agent/notice":     {"agent/lazyregexp"},
		"agent/progress":   nil,
		"agent/retry":      leaves,
		"agent/stacks":     {"exec", "agent/lazyregexp"},
		"agent/group":      append([]string{"agent/framework", "exec"}, leaves...),
		"agent/launch":     append([]string{"agent/archive", "agent/check", "agent/event", "agent/failure", "agent/goodput", "agent/group", "agent/metrics", "agent/notice", "agent/outfile", "agent/progress", "agent/retry", "agent/settings", "agent/stacks", "agent/tracecontext", "agent/straggler", "agent/usage", "agent/trainer"}, roles...),
		"agent/submit":     append([]string{"agent/api", "agent/failure", "agent/framework", "agent/progress", "agent/retry"}, leaves...),
		"agent/jobs":       append([]string{"agent/api", "agent/event", "agent/failure", "agent/framework", "agent/metrics", "agent/outfile", "agent/usage", "exec", "rendezvous"}, leaves...),
		"agent/doctor":     append([]string{"agent/api", "agent/check", "agent/jobs"}, leaves...),
		"agent/worker":     roles,
		"agent/join":       append([]string{"agent/worker", "agent/failure", "agent/group", "agent/outfile", "agent/retry", "agent/settings"}, roles...),
		"agent/api":        nil,
		"agent/controller": {"agent/api", "agent/event", "agent/framework", "agent/goodput", "agent/retry", "exec/names", "agent/serve", "agent/settings", "agent/tracecontext", "rendezvous"},
		"agent/kubeflow":   {"agent/api", "agent/framework", "agent/lazyregexp", "exec/names"},
		"cmd":              append([]string{"agent/archive", "agent/event", "agent/exporter", "agent/goodput", "agent/kubeflow", "agent/launch", "agent/timeline", "agent/worker", "agent/join", "agent/metrics", "agent/outfile", "agent/progress", "agent/controller", "agent/api", "agent/check", "agent/doctor", "agent/failure", "agent/settings", "agent/submit", "agent/jobs", "agent/usage"}, roles...),
		"agent/serve":      {"agent/api", "agent/framework", "agent/kubeflow", "exec/names"},
	}
	allowed["agent/tracecontext"] = leaves
	for _, p := range list(t, module+"...") {
		from := leaf(p.ImportPath)
		if from == "test" {
			continue
		}
		ok, known := allowed[from]
		require.True(t, known, "%s is in no known part of the tree", p.ImportPath)
		for _, i := range p.Imports {
			to := leaf(i)
			if to == "" || to == from {
				continue
			}
			require.Contains(t, ok, to, "%s imports %s", p.ImportPath, i)
		}
	}
}

// TestBinariesLinkWhatTheyMay checks which packages each binary links, and their number.
func TestBinariesLinkWhatTheyMay(t *testing.T) {
	for _, b := range linked.Binaries() {
		found, err := b.Look()
		require.NoError(t, err)
		require.Empty(t, found.Breaches)
		require.LessOrEqual(t, found.Packages, b.Packages, "packages of %s", b.Name)
		require.LessOrEqual(t, found.Modules, b.Modules, "modules of %s", b.Name)
	}
}

// TestCryptographyHasTwoHomes checks that the small binary links only the cryptography that proves a token (HMAC,
// SHA-256) or a key (X25519, AES-GCM, Ed25519), and each only in one package. Their start-up costs about 0.1 ms. That
// of TLS and certificates would slow down each mpirun, and add 2 MB.
func TestCryptographyHasTwoHomes(t *testing.T) {
	homes, parts := []string{module + "rendezvous/barrier", module + "exec/secure"}, linked.Binaries()[0].Crypto
	for _, p := range list(t, "-deps", module+"cmd/agent") {
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "crypto/") && leaf(p.ImportPath) != "" {
				require.Contains(t, homes, p.ImportPath, "imports %s", i)
				require.Contains(t, parts, i)
			}
		}
	}
}

// TestTheBarrierStandsAlone checks that the barrier shares nothing with the watch over pods. The barrier is part of
// rendezvous and of the small binary.
func TestTheBarrierStandsAlone(t *testing.T) {
	for _, p := range list(t, module+"rendezvous/barrier") {
		for _, i := range p.Imports {
			require.Contains(t, []string{"", "exec/deflate", "exec/names", "exec/shortage"}, leaf(i), "imports %s", i)
		}
	}
}

func TestLibrariesAreImportedInFewPlaces(t *testing.T) {
	homes := map[string][]string{
		"github.com/hashicorp/go-plugin":       {"agent/framework"},
		"go.opentelemetry.io":                  {"agent/exporter"},
		"github.com/flynn/noise":               {"exec"},
		"github.com/minio/minio-go":            {"agent/archive"},
		"sigs.k8s.io/controller-runtime":       {"agent/controller", "agent/serve", "cmd"},
		"github.com/prometheus/client_golang":  {"agent/controller", "agent/exporter"},
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
	for _, p := range list(t, module+"hostfile") {
		for _, d := range p.Imports {
			require.NotContains(t, d, ".", "hostfile uses the standard library only")
		}
	}
}

package rendezvous_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/rendezvous"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata; read the diff before you commit it")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// noon is the current time for every pod in testdata.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// section returns the file of the archive with this name.
func section(t testing.TB, a *txtar.Archive, name string) *txtar.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	require.FailNow(t, "no section "+name)
	return nil
}

// expect compares a section with got, or rewrites the section.
func expect(t *testing.T, path string, a *txtar.Archive, name, got string) {
	want := section(t, a, name)
	if *update {
		want.Data = []byte(got)
		require.NoError(t, os.WriteFile(path, txtar.Format(a), 0o644))
		return
	}
	require.Equal(t, string(want.Data), got)
}

// shape reads the pod of testdata/explain/NAME.txtar.
func shape(t testing.TB, name string) *corev1.Pod {
	a, err := txtar.ParseFile(filepath.Join("testdata", "explain", name+".txtar"))
	require.NoError(t, err)
	var pod corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict(section(t, a, "pod.yaml").Data, &pod))
	return &pod
}

func shapes(t testing.TB) []string {
	paths, err := filepath.Glob(filepath.Join("testdata", "explain", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for i := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(paths[i]), ".txtar")
	}
	return paths
}

func TestExplain(t *testing.T) {
	for _, name := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "explain", name+".txtar")
			a, err := txtar.ParseFile(path)
			require.NoError(t, err)
			r := rendezvous.Explain(shape(t, name), "worker", noon)
			if r.OK() {
				expect(t, path, a, "reason", "ok\n")
				return
			}
			require.Equal(t, "w-3", r.Pod)
			require.Contains(t, r.Sentence, "w-3", "the sentence names the pod")
			require.NotEmpty(t, r.Hint, "the reason has a hint")
			for _, text := range []string{r.Brief, r.Sentence, r.Hint} {
				require.NotContains(t, text, "\n")
				require.NotContains(t, text, "\x1b")
			}
			expect(t, path, a, "reason", fmt.Sprintf("code: %s\nbrief: %s\nsentence: %s\nhint: %s\npermanent: %v\ngrace: %v\nexit: %d\n",
				r.Code, r.Brief, r.Sentence, r.Hint, r.Permanent, r.Grace, r.ExitCode()))
		})
	}
}

// TestBriefDoesNotChangeWithTime checks that time alone does not change Brief, because a log
// compares Brief to detect changes.
func TestBriefDoesNotChangeWithTime(t *testing.T) {
	for _, name := range shapes(t) {
		if name == "terminating" {
			continue // such a pod becomes NodeLost long after its grace period
		}
		pod := shape(t, name)
		require.Equal(t, rendezvous.Explain(pod, "worker", noon).Brief, rendezvous.Explain(pod, "worker", noon.Add(7*time.Second)).Brief, name)
	}
}

func TestEveryReasonOfThePodIsInTheTable(t *testing.T) {
	seen := map[rendezvous.Code]bool{}
	for _, name := range shapes(t) {
		seen[rendezvous.Explain(shape(t, name), "worker", noon).Code] = true
	}
	for _, code := range []rendezvous.Code{
		"", rendezvous.Unschedulable, rendezvous.SchedulingGated, rendezvous.Pending, rendezvous.ContainerCreating, rendezvous.ImagePull,
		rendezvous.InvalidImage, rendezvous.ConfigError, rendezvous.StartError, rendezvous.CrashLoop, rendezvous.OOMKilled, rendezvous.Error,
		rendezvous.Completed, rendezvous.Init, rendezvous.Evicted, rendezvous.Preempted, rendezvous.NodeLost, rendezvous.Terminating,
		rendezvous.NotReady, rendezvous.NoAgent,
	} {
		require.True(t, seen[code], "no pod of testdata has the reason %q", code)
	}
}

func TestLinkReasonsHaveThePodAndAHint(t *testing.T) {
	for code, r := range map[rendezvous.Code]rendezvous.Reason{
		rendezvous.Connecting:      rendezvous.ConnectingTo("w-3"),
		rendezvous.Unreachable:     rendezvous.LinkUnreachable("w-3", "dial tcp 10.0.0.1:443: i/o timeout"),
		rendezvous.Forbidden:       rendezvous.LinkForbidden("w-3", "hpc", `pods "w-3" is forbidden`),
		rendezvous.Unauthorized:    rendezvous.LinkUnauthorized("w-3", "Unauthorized"),
		rendezvous.NoAgent:         rendezvous.LinkNoAgent("w-3", "worker", "/muster/agent", "no such file or directory"),
		rendezvous.RshAgentMissing: rendezvous.LinkRshAgentMissing("w-3", "/opt/agent"),
	} {
		require.Equal(t, code, r.Code)
		require.True(t, strings.HasPrefix(r.Sentence, "w-3: "), r.Sentence)
		require.NotEmpty(t, r.Brief)
		require.NotEmpty(t, r.Hint)
		require.Equal(t, code != rendezvous.Connecting && code != rendezvous.Unreachable, r.Permanent, code)
	}
	require.Contains(t, rendezvous.LinkForbidden("w-3", "hpc", "").Hint, `resources: ["pods/exec"], verbs: ["get", "create"], resourceNames: [...]}, with the names of all workers`)
}

// BenchmarkExplain explains 10,000 pods, a mix of every shape.
func BenchmarkExplain(b *testing.B) {
	var pods []*corev1.Pod
	names := shapes(b)
	for i := range 10_000 {
		if i < len(names) {
			pods = append(pods, shape(b, names[i]))
		} else {
			pods = append(pods, pods[i%len(names)])
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, pod := range pods {
			rendezvous.Explain(pod, "worker", noon)
		}
	}
}

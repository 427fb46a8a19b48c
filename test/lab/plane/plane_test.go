//go:build linux

package plane

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestArgv checks that nothing of a plane is reachable from other machines, and that the flags of the version are used.
func TestArgv(t *testing.T) {
	p := &Plane{Name: "one", dir: "/tmp/one", port: map[string]string{"etcd": "1", "peer": "2", "kube-apiserver": "3"}, programs: Programs{
		Programs: map[string]string{"kube-apiserver": "/bin/kube-apiserver"}, Flags: map[string][]string{"kube-apiserver": {"--more"}}}}
	argv := p.argv("kube-apiserver")
	require.Equal(t, "/bin/kube-apiserver", argv[0])
	require.Equal(t, "--more", argv[len(argv)-1])
	require.Contains(t, argv, "--bind-address=127.0.0.1")
	require.Contains(t, argv, "--etcd-servers=http://127.0.0.1:1")
	require.Equal(t, "https://127.0.0.1:3", p.URL())
	for _, flag := range p.argv("etcd") {
		_, value, _ := strings.Cut(flag, "http://")
		require.True(t, value == "" || strings.HasPrefix(value, "127.0.0.1:"), flag)
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		require.Contains(t, p.argv(name), "--secure-port=0", name)
	}
}

// TestPorts checks that several planes get different ports.
func TestPorts(t *testing.T) {
	found, err := ports("a", "b", "c")
	require.NoError(t, err)
	all := []string{found["a"], found["b"], found["c"]}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 3)
}

// TestStages checks that kwok reads the annotations and labels that this package exports.
func TestStages(t *testing.T) {
	var keys []string
	for text := range strings.SplitSeq(string(stages), "\n---\n") {
		var stage struct {
			Spec struct {
				Selector struct {
					MatchExpressions []struct{ Key string }
				}
				Delay struct {
					DurationFrom struct{ ExpressionFrom string }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &stage))
		for _, e := range stage.Spec.Selector.MatchExpressions {
			keys = append(keys, e.Key)
		}
		keys = append(keys, stage.Spec.Delay.DurationFrom.ExpressionFrom)
	}
	for name, key := range map[string]string{EndsAfter: "annotations", NeverReady: "annotations", LostLabel: "labels"} {
		require.Contains(t, keys, `.metadata.`+key+`["`+name+`"]`)
	}
	require.Equal(t, 2, strings.Count(strings.Join(keys, " "), EndsAfter), "it selects pods, and says when they end")
}

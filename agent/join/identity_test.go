package join

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// hosts is the hosts file that the kubelet writes for a pod with a subdomain.
const hosts = `# Kubernetes-managed hosts file.
127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
10.244.1.7	train-3.members.default.svc.cluster.local	train-3
`

func TestIdentify(t *testing.T) {
	for _, row := range []struct {
		name        string
		cfg         Config
		env         map[string]string
		hosts       string
		rank        int
		coordinator string
	}{
		{"an Indexed Job", Config{Rank: -1, Host: "train-3"}, map[string]string{"JOB_COMPLETION_INDEX": "3"}, hosts, 3, "train-0.members.default.svc.cluster.local:9377"},
		{"a StatefulSet, by the host name", Config{Rank: -1, Host: "train-3"}, nil, hosts, 3, "train-0.members.default.svc.cluster.local:9377"},
		{"by the pod-index label", Config{Rank: -1, Host: "train-3"}, map[string]string{"MUSTER_POD_INDEX": "3"}, hosts, 3, "train-0.members.default.svc.cluster.local:9377"},
		{"sources that agree", Config{Rank: 3, Host: "train-3"}, map[string]string{"MUSTER_POD_INDEX": "3", "JOB_COMPLETION_INDEX": "3"}, hosts, 3, "train-0.members.default.svc.cluster.local:9377"},
		{"rank 0", Config{Rank: -1, Host: "train-0"}, nil, "10.244.1.7 train-0.members.x.svc train-0\n", 0, "train-0.members.x.svc:9377"},
		{"no subdomain", Config{Rank: -1, Host: "train-3"}, nil, "10.244.1.7 train-3\n", 3, "train-0:9377"},
		{"rank of two digits", Config{Rank: -1, Host: "train-10"}, nil, "", 10, "train-0:9377"},
		{"explicit", Config{Rank: 2, Host: "x", Coordinator: "leader.svc:99"}, nil, hosts, 2, "leader.svc:99"},
		{"explicit without a port", Config{Rank: 2, Host: "x", Coordinator: "leader.svc"}, nil, hosts, 2, "leader.svc:9377"},
		{"a host name that does not contain the rank", Config{Rank: 1, Host: "node-17", Coordinator: "10.0.0.1:99"}, nil, hosts, 1, "10.0.0.1:99"},
	} {
		cfg := row.cfg
		cfg.Workers = 20
		require.NoError(t, cfg.Identify(func(name string) string { return row.env[name] }, row.hosts), row.name)
		require.Equal(t, row.rank, cfg.Rank, row.name)
		require.Equal(t, row.coordinator, cfg.Coordinator, row.name)
	}
	for _, row := range []struct{ job, host, index, want string }{
		{"", "train-3", "3", "train"},
		{"mine", "train-3", "3", "mine"},
		{"", "train-3", "", ""},
		{"", "node-17", "1", ""},
		{"", "train-13", "3", ""},
	} {
		cfg := Config{Job: row.job, Host: row.host, Rank: -1, Workers: 20, Coordinator: "a:1"}
		require.NoError(t, cfg.Identify(func(name string) string {
			if name == "JOB_COMPLETION_INDEX" {
				return row.index
			}
			return ""
		}, ""))
		require.Equal(t, row.want, cfg.meets, row)
	}
	cfg := Config{Rank: -1, Host: "train-3", Workers: 4}
	require.NoError(t, cfg.Identify(func(string) string { return "" }, hosts))
	require.Equal(t, "10.244.1.7", cfg.PodIP)
	cfg = Config{Rank: -1, Host: "laptop", Workers: 1}
	require.NoError(t, cfg.Identify(func(string) string { return "" }, "127.0.1.1 laptop\n"))
	require.Zero(t, cfg.Rank)
	require.Empty(t, cfg.PodIP, "a loopback address is not the pod's address")
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("  0123456789abcdef\n"), 0o600))
	token, err := ReadToken(path, "the variable's")
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", string(token))
	token, err = ReadToken("", " the variable's\n")
	require.NoError(t, err)
	require.Equal(t, "the variable's", string(token))
	require.NoError(t, os.WriteFile(path, make([]byte, mostToken+1), 0o600))
	_, err = ReadToken(path, "")
	require.ErrorContains(t, err, "is too long")
}

func FuzzHosts(f *testing.F) {
	f.Add("train-3", hosts)
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, host, text string) {
		_ = domainOf(host, text)
		_ = addressOf(host, text)
		if n := trailing(host); n >= 0 {
			require.Regexp(t, `\d$`, host)
		}
	})
}

package remote

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
)

var target = Target{Namespace: "ns", Pod: "pi-worker-0", UID: "uid-0", Container: "main", Agent: "/muster/agent"}

const forbiddenStatus = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"pi-worker-0\" is forbidden","reason":"Forbidden","code":403}`

func TestAnswer(t *testing.T) {
	genuine := func(message string) string {
		return `{"kind":"Status","status":"Failure","message":"` + message + `"}`
	}
	const refused, refusedOnce = link.Kind(-1), link.Kind(-2)
	for _, c := range []struct {
		name string
		code int
		body string
		want link.Kind
	}{
		{"unauthorized", 401, genuine("Unauthorized"), link.Unauthorized},
		{"unauthorized by a proxy", 401, "who are you", link.Unauthorized},
		{"forbidden", 403, forbiddenStatus, link.Forbidden},
		{"forbidden, cut short by the library", 403, forbiddenStatus[:80], link.Forbidden},
		{"old server's handshake", 403, "", refused},
		{"negotiation", 403, "unable to upgrade: unable to negotiate protocol", refused},
		{"bad handshake", 400, "Bad Request", refused},
		{"upgrade headers lost", 400, genuine("Upgrade request required"), refused},
		{"completed pod", 400, genuine("cannot exec into a container in a completed pod; current phase is Succeeded"), link.Server},
		{"not found", 404, genuine("pods not found"), link.NotFound},
		{"kubelet's not found", 404, "pod does not exist", link.NotFound},
		{"throttled", 429, genuine("slow down"), link.Server},
		{"server error", 500, genuine("etcd"), link.Server},
		{"plain server error", 500, "oops", refusedOnce},
		{"bad gateway", 502, "<html>", link.Server},
		{"unavailable", 503, "", link.Server},
		{"gateway timeout", 504, "", link.Server},
		{"redirect", 302, "", link.Server},
		{"method", 405, "", refused},
		{"not an upgrade", 200, "hello", refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := target.answer(&http.Response{StatusCode: c.code, Status: "x", Body: io.NopCloser(strings.NewReader(c.body))})
			var no *refusedError
			if c.want == refused || c.want == refusedOnce {
				require.ErrorAs(t, err, &no)
				require.Equal(t, c.want == refused, no.lasting)
				return
			}
			require.False(t, errors.As(err, &no))
			require.Equal(t, c.want, kind(t, err))
		})
	}
}

func TestVerdict(t *testing.T) {
	internal := func(message string) string {
		return `{"status":"Failure","reason":"InternalError","code":500,"message":` + message + `}`
	}
	exit := func(code string) string {
		return `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"` + code + `"}]}}`
	}
	for _, c := range []struct {
		name, said string
		want       link.Kind
	}{
		{"success proves nothing", `{"status":"Success"}`, link.Dropped},
		{"exit 1", exit("1"), link.Dropped},
		{"exit 137", exit("137"), link.Dropped},
		{"exit 126", exit("126"), link.AgentMissing},
		{"exit 127", exit("127"), link.AgentMissing},
		{"exit code unreadable", exit("x"), link.Dropped},
		{"runc, path", internal(`"Internal error occurred: error executing command in container: failed to exec in container: failed to start exec \"ab12\": OCI runtime exec failed: exec failed: unable to start container process: exec: \"/muster/agent\": stat /muster/agent: no such file or directory: unknown"`), link.AgentMissing},
		{"runc, older wording", internal(`"OCI runtime exec failed: exec failed: container_linux.go:380: starting container process caused: exec: \"/muster/agent\": permission denied: unknown"`), link.AgentMissing},
		{"crun", internal(`"executable file ` + "`/muster/agent`" + ` not found: No such file or directory"`), link.AgentMissing},
		{"wrong architecture", internal(`"unable to start container process: exec /muster/agent: exec format error"`), link.AgentMissing},
		{"runtime lost its own files", internal(`"failed to exec in container: failed to create exec: mkdir /run/containerd/x: no such file or directory"`), link.Server},
		{"working directory gone", internal(`"OCI runtime exec failed: chdir to cwd (\"/work\") set in config.json failed: no such file or directory"`), link.Server},
		{"container not running", internal(`"unable to upgrade connection: container not found (\"main\")"`), link.Server},
		{"stopped container", internal(`"cannot exec in a stopped container: unknown"`), link.Server},
		{"plain text of old protocols", `error executing remote command`, link.Server},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := target.verdict([]byte(c.said), "last words")
			require.Equal(t, c.want, err.Kind)
			require.ErrorContains(t, err, "pi-worker-0")
			if c.want != link.AgentMissing {
				require.ErrorContains(t, err, "last words")
			}
		})
	}
}

func TestMissingAgentIsOneSentence(t *testing.T) {
	// As sent by containerd 1.6 and Kubernetes 1.34.
	said := `{"status":"Failure","reason":"InternalError","message":"Internal error occurred: Internal error occurred: error executing command in container: failed to exec in container: failed to start exec \"ab834709\": OCI runtime exec failed: exec failed: unable to start container process: exec: \"/muster/agent\": stat /muster/agent: no such file or directory: unknown"}`
	err := target.verdict([]byte(said), "")
	require.EqualError(t, err, "container main of pod ns/pi-worker-0 cannot run the agent /muster/agent: stat /muster/agent: no such file or directory")
	var hint interface{ Hint() string }
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.Hint(), "--worker-agent")

	other := `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"1"}]}}`
	err = target.verdict([]byte(other), "exec /muster/agent: exec format error\n")
	require.EqualError(t, err, "container main of pod ns/pi-worker-0 cannot run the agent /muster/agent: exec /muster/agent: exec format error")
	require.Equal(t, link.AgentMissing, err.Kind)
}

func TestForbiddenGivesTheRule(t *testing.T) {
	err := target.answer(&http.Response{StatusCode: 403, Body: io.NopCloser(strings.NewReader(forbiddenStatus))})
	var hint interface{ Hint() string }
	require.ErrorAs(t, err, &hint)
	require.Equal(t, `add this rule to the Role of the launcher's ServiceAccount in namespace ns:
- apiGroups: [""]
  resources: ["pods/exec"]
  verbs: ["get", "create"]
  resourceNames: ["pi-worker-0"]`, hint.Hint())
	require.Contains(t, Rule("ns", []string{"a", "b"}), `resourceNames: ["a", "b"]`)
}

func TestTailKeepsTheEnd(t *testing.T) {
	var kept tail
	all := ""
	for i := range 300 {
		s := strings.Repeat(string(rune('a'+i%26)), i)
		n, err := kept.Write([]byte(s))
		require.NoError(t, err)
		require.Equal(t, len(s), n)
		all += s
		require.Equal(t, all[max(0, len(all)-tailLimit):], kept.String())
	}
	_, _ = kept.Write([]byte(all))
	require.Equal(t, all[len(all)-tailLimit:], kept.String())
}

package remote

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
)

// FuzzAnswers tries any message of a server, a proxy or a runtime, as the answer to an upgrade and
// on the error channel. No message may count as a success or classify the pod as Gone, and every
// error must have a message.
func FuzzAnswers(f *testing.F) {
	f.Add(101, []byte(`{"metadata":{},"status":"Success"}`), "")
	f.Add(403, []byte(`{"kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}`), "x")
	f.Add(500, []byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"69"}]}}`), "")
	f.Add(400, []byte("Internal error occurred: Internal error occurred: exec: \"/muster/agent\": permission denied: unknown"), "")
	f.Add(302, []byte("unable to upgrade: https"), "exec format error")
	target := Target{Namespace: "ns", Pod: "p", Container: "c", Agent: "/muster/agent"}
	f.Fuzz(func(t *testing.T, code int, body []byte, stderr string) {
		said := target.verdict(body, stderr)
		require.NotNil(t, said)
		require.NotEmpty(t, said.Error())
		require.Contains(t, []link.Kind{link.Dropped, link.Server, link.AgentMissing, link.NoWorker}, said.Kind)

		err := target.answer(&http.Response{StatusCode: code, Status: "said", Body: io.NopCloser(bytes.NewReader(body))})
		require.Error(t, err)
		require.NotEmpty(t, err.Error())
		var refused *refusedError
		var verdict *link.DialError
		if !errors.As(err, &refused) {
			require.ErrorAs(t, err, &verdict)
			require.False(t, verdict.Kind.Terminal())
		}
	})
}

package trainer

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

func TestReport(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, r := range map[string]Report{
		`{"trainerStatus":{"metrics":[{"name":"current_step","value":"7"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"}}`: {Step: 7},
		`{"trainerStatus":{"progressPercentage":24,"estimatedRemainingSeconds":11,"metrics":[{"name":"current_step","value":"1249"},{"name":"total_steps","value":"5000"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"}}`: {
			Step: 1249, Total: 5000, Left: 10100 * time.Millisecond},
		`{"trainerStatus":{"progressPercentage":100,"metrics":[{"name":"current_step","value":"6"},{"name":"total_steps","value":"5"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"}}`:    {Step: 6, Total: 5},
		`{"trainerStatus":{"progressPercentage":99,"metrics":[{"name":"current_step","value":"0.999"},{"name":"total_steps","value":"1"}],"lastUpdatedTime":"2026-01-02T03:04:05Z"}}`: {Step: .999, Total: 1},
	} {
		got, err := r.encode(now)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

// TestClient checks requests against Kubeflow's clients, and what follows from each answer.
func TestClient(t *testing.T) {
	answer, target := 200, ""
	var got *http.Request
	var body []byte
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		if target != "" {
			w.Header().Set("Location", target)
		}
		w.WriteHeader(answer)
		_, _ = io.WriteString(w, "because")
	}))
	defer s.Close()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, text, 0o600))
		return p
	}
	env := map[string]string{
		names.EnvTrainerURL: s.URL + "/x", names.EnvTrainerToken: write("token", []byte("secret\n")),
		names.EnvTrainerCA: write("ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
	}
	getenv := func(name string) string { return env[name] }
	c, err := FromEnv(getenv)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Send(t.Context(), Report{Step: 7}))
	require.Equal(t, "POST /x Bearer secret application/json", got.Method+" "+got.URL.Path+" "+got.Header.Get("Authorization")+" "+got.Header.Get("Content-Type"))
	require.True(t, json.Valid(body))

	write("token", []byte("renewed"))
	require.NoError(t, c.Send(t.Context(), Report{Step: 8}))
	require.Equal(t, "Bearer renewed", got.Header.Get("Authorization"))

	answer = 429
	require.ErrorIs(t, c.Send(t.Context(), Report{}), ErrLater)
	answer = 403
	require.EqualError(t, c.Send(t.Context(), Report{}), "report progress: the server answered 403 Forbidden: because")
	answer, target = 307, s.URL+"/elsewhere"
	require.ErrorContains(t, c.Send(t.Context(), Report{}), "307", "a token does not follow a redirect")
	require.NoError(t, os.Remove(env[names.EnvTrainerToken]))
	require.ErrorIs(t, c.Send(t.Context(), Report{}), os.ErrNotExist)
}

func TestFromEnv(t *testing.T) {
	c, err := FromEnv(func(string) string { return "" })
	require.NoError(t, err)
	require.Nil(t, c)
	for _, address := range []string{"http://host/x", "host:8443", "https://"} {
		_, err := FromEnv(func(name string) string {
			if name == names.EnvTrainerURL {
				return address
			}
			return ""
		})
		require.ErrorContains(t, err, "want an https address")
	}
	_, err = FromEnv(func(name string) string {
		if name == names.EnvTrainerURL {
			return "https://host/x"
		}
		return "/nonexistent"
	})
	require.ErrorIs(t, err, os.ErrNotExist)
}

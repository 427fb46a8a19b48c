package headway

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/trainer"
	"github.com/musterhq/muster/exec/names"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steady is an attempt that is at a step.
type steady struct {
	far   progress.Far
	known bool
}

func (s steady) Far(time.Time) (progress.Far, bool) { return s.far, s.known }

// reporter returns a reporter to a server that answers with code, and what the server gets.
func reporter(t *testing.T, code int, said io.Writer) (r *Reporter, got chan string) {
	t.Helper()
	return answering(t, said, func(int) int { return code })
}

// answering is reporter for a server that answers each request with the code of its number, from 0.
func answering(t *testing.T, said io.Writer, code func(n int) int) (r *Reporter, got chan string) {
	t.Helper()
	got = make(chan string, 8)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body)
		n := len(got)
		got <- string(text)
		w.WriteHeader(code(n))
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	env := map[string]string{names.EnvTrainerURL: s.URL, names.EnvTrainerCA: filepath.Join(dir, "ca"), names.EnvTrainerToken: filepath.Join(dir, "token")}
	require.NoError(t, os.WriteFile(env[names.EnvTrainerCA], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(env[names.EnvTrainerToken], []byte("secret"), 0o600))
	r = New(func(name string) string { return env[name] }, &console.Voice{Out: said})
	require.NotNil(t, r)
	t.Cleanup(r.Close)
	return r, got
}

// TestTheLastReport checks that an attempt which ends at once is reported, and one that is unknown is
// not.
func TestTheLastReport(t *testing.T) {
	r, got := reporter(t, 200, io.Discard)
	r.Follow(t.Context(), steady{})()
	require.Empty(t, got)
	r.Follow(t.Context(), steady{progress.Far{Step: 3, Total: 4, Left: time.Second}, true})()
	require.Contains(t, <-got, `"progressPercentage":75,"estimatedRemainingSeconds":1,`)
}

// TestReportsOnlyNews checks that a step is sent once, and again if the server did not take it.
func TestReportsOnlyNews(t *testing.T) {
	var said bytes.Buffer
	for code, want := range map[int]int{200: 1, 403: 4, 429: 4} {
		said.Reset()
		r, got := reporter(t, code, &said)
		at := steady{progress.Far{Step: 3}, true}
		last := r.send(t.Context(), at.Far, time.Now(), trainer.Report{})
		for range 3 {
			last = r.send(t.Context(), at.Far, time.Now(), last)
		}
		require.Len(t, got, want, "answer %d", code)
		require.Equal(t, code == 403, strings.Contains(said.String(), "agent: cannot report progress: report progress: the server answered 403 Forbidden"), said.String())
		require.LessOrEqual(t, strings.Count(said.String(), "\n"), 1)
	}
}

// TestAServerThatIsBusyFirst checks that a lasting error is said, although the server was busy before it.
func TestAServerThatIsBusyFirst(t *testing.T) {
	var said bytes.Buffer
	r, _ := answering(t, &said, func(n int) int { return map[bool]int{true: 503, false: 403}[n < 3] })
	for range 7 {
		r.send(t.Context(), steady{progress.Far{Step: 3}, true}.Far, time.Now(), trainer.Report{})
	}
	require.Equal(t, 1, strings.Count(said.String(), "the server answered 403 Forbidden"), said.String())
}

// TestAServerThatHangs checks that a run does not wait for it.
func TestAServerThatHangs(t *testing.T) {
	r, _ := reporter(t, 200, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, trainer.Report{}, r.send(ctx, steady{progress.Far{Step: 1}, true}.Far, time.Now(), trainer.Report{}))
}

// TestNoServer checks that nothing happens without one, and that a wrong address is a warning.
func TestNoServer(t *testing.T) {
	var said bytes.Buffer
	var none *Reporter
	require.Nil(t, New(func(string) string { return "" }, &console.Voice{Out: &said}))
	none.Follow(t.Context(), steady{})()
	none.Close()
	require.Empty(t, said.String())
	require.Nil(t, New(func(string) string { return "nowhere" }, &console.Voice{Out: &said}))
	require.Equal(t, "agent: cannot report progress: KUBEFLOW_TRAINER_SERVER_URL=nowhere: want an https address\n", said.String())
}

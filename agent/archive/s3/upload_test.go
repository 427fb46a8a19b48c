package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"
)

// uploading starts an Upload in a synctest bubble. said has a line for each call of Say.
func uploading(t *testing.T, store Store, dir string) (said *[]string, end func() error) {
	said = &[]string{}
	ended, done := make(chan struct{}), make(chan error, 1)
	u := &Upload{Store: store, Dir: dir, Rest: time.Minute, Say: func(err error) { *said = append(*said, fmt.Sprint(err)) }}
	go func() { done <- u.Run(t.Context(), ended) }()
	return said, func() error { close(ended); return <-done }
}

// TestUploadOutlivesAnOutage checks that a store that is down when the run begins, and again in between, costs no byte,
// and that each outage is said once.
func TestUploadOutlivesAnOutage(t *testing.T) {
	dir, back := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("connection refused")
		store := &memory{objects: map[string][]byte{}, broken: down}
		said, end := uploading(t, store, dir)
		time.Sleep(5 * time.Second)
		require.Empty(t, *said, "the run has not begun to write")
		r := begin(t, dir, "one", 2)
		r.write(0, "a\n")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"connection refused"}, *said)
		store.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"connection refused", "<nil>"}, *said)
		for n := range 20 {
			store.fail(map[bool]error{true: down}[n%2 == 0])
			r.write(1, fmt.Sprintln("b", n))
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		require.LessOrEqual(t, len(*said), 6, "a store that fails now and then is not reported each time")
		store.fail(nil)
		r.end()
		require.NoError(t, end())
		names, err := Runs(t.Context(), store)
		require.NoError(t, err)
		require.NoError(t, Fetch(t.Context(), store, names[0], filepath.Join(back, "a"), nil))
		require.Equal(t, lines(t, dir), lines(t, filepath.Join(back, "a")))
	})
}

// TestUploadSaysWhatIsLeft checks the end of a run while the store is down: it is bounded, and says how much is missing.
// A later Upload of the directory copies the rest.
func TestUploadSaysWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}}
		r := begin(t, dir, "one", 2)
		r.write(0, "a\n")
		_, end := uploading(t, store, dir)
		time.Sleep(time.Minute)
		store.fail(errors.New("connection refused"))
		r.write(1, "four")
		r.end()
		began := time.Now()
		var left *LeftError
		require.ErrorAs(t, end(), &left)
		require.LessOrEqual(t, time.Since(began), time.Minute)
		require.Equal(t, 2, left.Files, "a rank and the index")
		require.Greater(t, left.Bytes, int64(4))
		require.ErrorContains(t, left, "connection refused")
		store.fail(nil)
		_, end = uploading(t, store, dir)
		require.NoError(t, end())
		back := t.TempDir()
		names, err := Runs(t.Context(), store)
		require.NoError(t, err)
		require.NoError(t, Fetch(t.Context(), store, names[0], back, nil))
		require.Equal(t, lines(t, dir), lines(t, back))
	})
}

// TestTheLastLinesOfManyRanks checks that the time at the end of a run is enough for a file of each rank. A request takes
// as long as it does over a distance.
func TestTheLastLinesOfManyRanks(t *testing.T) {
	dir, back := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{objects: map[string][]byte{}, took: 250 * time.Millisecond}
		r := begin(t, dir, "one", 300)
		_, end := uploading(t, store, dir)
		time.Sleep(time.Second)
		for rank := range r.out {
			r.write(rank, "done\n")
		}
		r.end()
		require.NoError(t, end())
		names, err := Runs(t.Context(), store)
		require.NoError(t, err)
		require.NoError(t, Fetch(t.Context(), store, names[0], filepath.Join(back, "a"), nil))
		require.Equal(t, lines(t, dir), lines(t, filepath.Join(back, "a")))
	})
}

// TestUploadOfNothing checks that a run that ends before it writes needs no store.
func TestUploadOfNothing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		said, end := uploading(t, &memory{broken: errors.New("down")}, dir)
		require.NoError(t, end())
		require.Empty(t, *said)
	})
}

// TestAFailedPieceKeepsItsSize checks that a piece is tried again with the same bytes: the store may have taken it.
func TestAFailedPieceKeepsItsSize(t *testing.T) {
	dir := t.TempDir()
	store := &memory{objects: map[string][]byte{}}
	r := begin(t, dir, "one", 1)
	m, err := NewMirror(t.Context(), store, dir)
	require.NoError(t, err)
	r.write(0, "abc")
	store.fail(errors.New("timeout"))
	require.Error(t, m.Pass(t.Context(), true))
	r.write(0, "def")
	store.fail(nil)
	require.NoError(t, m.Pass(t.Context(), true))
	require.Equal(t, "abc", string(store.objects[objectName(m.Name(), "rank-0.out", 0)]))
	require.Equal(t, "def", string(store.objects[objectName(m.Name(), "rank-0.out", 3)]))
	r.end()
	require.NoError(t, m.Close(t.Context()))
}

func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b = "run-20260102T150405Z-a", "run-20260102T150406Z-b"
		store := &memory{objects: map[string][]byte{a + "/x/0": nil, b + "/x/0": nil, "run-9/" + a + "/x/0": nil}}
		require.NoError(t, Check(t.Context(), store, time.Second))
		names, err := Runs(t.Context(), store)
		require.NoError(t, err)
		require.Equal(t, []string{a, b}, names, "what Check writes is no run, nor is another prefix")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		store.fail(errors.New("connection refused"))
		require.ErrorIs(t, Check(ctx, store, time.Second), store.broken)
		require.Equal(t, 30*time.Second, time.Since(began))
		store.fail(fmt.Errorf("write: %w", minio.ErrorResponse{Code: minio.AccessDenied, StatusCode: http.StatusForbidden}))
		began = time.Now()
		require.ErrorIs(t, Check(t.Context(), store, time.Second), store.broken)
		require.Zero(t, time.Since(began), "it will not pass")
	})
}

func TestErrorsOfAStore(t *testing.T) {
	answer := func(code string, status int) error {
		return fmt.Errorf("write: %w", minio.ErrorResponse{Code: code, StatusCode: status})
	}
	for hint, err := range map[string]error{
		"create the bucket":        answer(minio.NoSuchBucket, 404),
		"grant s3:ListBucket":      answer(minio.AccessDenied, 403),
		"check AWS_ACCESS_KEY_ID":  answer("SignatureDoesNotMatch", 403),
		"set AWS_REGION to the":    answer(minio.AuthorizationHeaderMalformed, 400),
		"set AWS_REGION":           answer("PermanentRedirect", 301),
		"correct the clock":        answer(minio.RequestTimeTooSkewed, 403),
		"set AWS_ACCESS_KEY_ID":    fmt.Errorf("list: %w", errNoCredentials),
		"install ca-certificates":  fmt.Errorf("list: %w", &tls.CertificateVerificationError{Err: errors.New("unknown")}),
		"check AWS_ENDPOINT_URL, ": answer("SlowDown", 503),
	} {
		require.Contains(t, Hint(err), hint)
		require.Equal(t, hint != "check AWS_ENDPOINT_URL, ", IsLasting(err), hint)
	}
	require.False(t, IsLasting(errors.New("connection refused")))
	for code, status := range map[string]int{"TooManyRequests": 429, "RequestTimeout": 400, "OperationAborted": 409} {
		require.False(t, IsLasting(answer(code, status)), code)
	}
}

func TestServerOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Server
	}{
		{nil, Server{}},
		{map[string]string{"AWS_ENDPOINT_URL": "http://a", "AWS_DEFAULT_REGION": "b"}, Server{Endpoint: "http://a", Region: "b"}},
		{map[string]string{"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b", "AWS_REGION": "c", "AWS_DEFAULT_REGION": "d"}, Server{Endpoint: "http://b", Region: "c"}},
		{map[string]string{"AWS_ENDPOINT_URL": "http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true", "AWS_CA_BUNDLE": "/ca"}, Server{Bundle: "/ca"}},
	} {
		require.Equal(t, c.want, ServerOf(func(name string) string { return c.env[name] }))
	}
	_, err := Target{"logs", ""}.Open(Server{Endpoint: "https://s3.example.com", Bundle: "/nowhere"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCredentials checks the order of their sources, and that a run does not write without any.
func TestCredentials(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := newChain(os.Getenv).GetWithContext(nil)
	require.ErrorIs(t, err, errNoCredentials)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", none)
	_, err = newChain(os.Getenv).GetWithContext(nil)
	require.ErrorIs(t, err, errNoCredentials)
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id = of-file\naws_secret_access_key = s\n"), 0o600))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	value, err := newChain(os.Getenv).GetWithContext(nil)
	require.NoError(t, err)
	require.Equal(t, "of-file", value.AccessKeyID)
	t.Setenv("AWS_ACCESS_KEY_ID", "of-variable")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	value, err = newChain(os.Getenv).GetWithContext(nil)
	require.NoError(t, err)
	require.Equal(t, "of-variable", value.AccessKeyID)
}

// TestCredentialsThatAreLate checks that an error passes if the pod has an identity, or had credentials, and the
// service behind them does not answer. What that service refuses does not pass.
func TestCredentialsThatAreLate(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_CONFIG_FILE", none)
	var answer atomic.Value // a func(http.ResponseWriter)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer.Load().(func(http.ResponseWriter))(w) }))
	hangUp := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	refuse := func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }
	give := func(w http.ResponseWriter) {
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"a","SecretAccessKey":"b","Token":"c","Expiration":%q}`, time.Now().UTC().Format(time.RFC3339))
	}
	t.Cleanup(s.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL)
	creds := newChain(os.Getenv)
	get := func(by func(http.ResponseWriter)) error {
		answer.Store(by)
		creds.Expire()
		_, err := creds.GetWithContext(nil)
		return err
	}
	for range 2 { // before it had credentials, and after
		err := get(hangUp)
		require.ErrorContains(t, err, "cannot get credentials of AWS: ")
		require.False(t, IsLasting(err))
		require.Contains(t, Hint(err), "the service that gives it credentials")
		require.NoError(t, get(give))
	}
	require.False(t, IsLasting(get(refuse)), "it has given some before")
	creds = newChain(os.Getenv)
	require.ErrorIs(t, get(refuse), errNoCredentials)
}

func TestRunOf(t *testing.T) {
	const run = "run-20260102T150405Z-ab"
	for prefix, want := range map[string]struct{ above, run string }{
		"team/" + run: {"team", run}, run: {"", run}, "team": {"team", ""}, "": {"", ""},
		"run-17": {"run-17", ""}, "team/run-of-bert": {"team/run-of-bert", ""}, "run-17/" + run: {"run-17", run},
		"run-20260102T150405Z": {"run-20260102T150405Z", ""}, "run-20260102T150405Z-": {"run-20260102T150405Z-", ""},
	} {
		above, name := RunOf(Target{"logs", prefix})
		require.Equal(t, Target{"logs", want.above}, above, prefix)
		require.Equal(t, want.run, name, prefix)
	}
}

package oci

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/content"
)

// plainRegistry stores what is pushed to it. Like the registry of the distribution project, it has no referrers
// API.
type plainRegistry struct {
	lock  sync.Mutex
	blobs map[string][]byte // by path; manifests also by tag
	types map[string]string
}

func (r *plainRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.lock.Lock()
	defer r.lock.Unlock()
	at := req.URL.Path
	switch req.Method {
	case http.MethodDelete: // the default of many registries
		http.Error(w, `{"errors":[{"code":"UNSUPPORTED"}]}`, http.StatusMethodNotAllowed)
	case http.MethodPost: // starts an upload
		w.Header().Set("Location", at+"1")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		sum := digest.FromBytes(body).String()
		if wanted := req.URL.Query().Get("digest"); wanted != "" {
			at = path.Join(strings.Split(at, "/uploads/")[0], wanted)
		} else {
			r.put(path.Join(path.Dir(at), sum), req.Header.Get("Content-Type"), body)
		}
		r.put(at, req.Header.Get("Content-Type"), body)
		w.Header().Set("Docker-Content-Digest", sum)
		w.WriteHeader(http.StatusCreated)
	default:
		body, ok := r.blobs[at]
		if !ok {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", r.types[at])
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(body).String())
		if _, err := w.Write(body); err != nil {
			panic(err)
		}
	}
}

func (r *plainRegistry) put(at, kind string, body []byte) { r.blobs[at], r.types[at] = body, kind }

func TestPush(t *testing.T) {
	server := httptest.NewServer(&plainRegistry{blobs: map[string][]byte{}, types: map[string]string{}})
	defer server.Close()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	to := ParseRegistry(server.URL + "/musterhq")
	l, index := build(t)
	for range 2 { // pushing again is not an error
		require.NoError(t, l.Push(t.Context(), to, "muster-agent", "v1.0.0"))
		require.NoError(t, l.Push(t.Context(), to, "charts/muster", "1.0.0"))
	}
	require.ErrorContains(t, l.Push(t.Context(), to, "muster-agent", "v2"), "find muster-agent:v2 in the image layout")

	repo, err := to.Repository("muster-agent")
	require.NoError(t, err)
	found, err := repo.Resolve(t.Context(), "v1.0.0")
	require.NoError(t, err)
	require.Equal(t, index.Digest, found.Digest)
	platforms, err := content.Successors(t.Context(), repo, found)
	require.NoError(t, err)
	require.Len(t, platforms, 2)
	for _, p := range platforms {
		parts, err := content.Successors(t.Context(), repo, p)
		require.NoError(t, err)
		for _, part := range parts {
			_, err := content.FetchAll(t.Context(), repo, part)
			require.NoError(t, err)
		}
		var about []ocispec.Descriptor
		require.NoError(t, repo.Referrers(t.Context(), p, "application/spdx+json", func(list []ocispec.Descriptor) error {
			about = append(about, list...)
			return nil
		}))
		require.Len(t, about, 1)
	}
	charts, err := to.Repository("charts/muster")
	require.NoError(t, err)
	_, err = charts.Resolve(t.Context(), "1.0.0")
	require.NoError(t, err)
}

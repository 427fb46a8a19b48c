//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowImage is the repository of the image that serveSlowly serves.
const slowImage = "muster/slow"

// hostIP is the machine's address in the network of the nodes of test/lab/cluster.
const hostIP = "198.19.255.1"

// serveSlowly starts a registry that nodes can reach, and returns its address. It has one image, with a program named
// sleep that never ends, and sends its manifest only after a delay.
func serveSlowly(t *testing.T, delay time.Duration) (address string) {
	t.Helper()
	blobs, manifest := sleepImage(t)
	kind := "application/vnd.oci.image.manifest.v1+json"
	server := &httptest.Server{Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		body, found := blobs[name]
		switch {
		case r.URL.Path == "/v2/":
			return
		case path.Dir(r.URL.Path) == "/v2/"+slowImage+"/manifests":
			select {
			case <-time.After(delay):
			case <-r.Context().Done():
				return
			}
			body, found = manifest, name == "1" || name == digest(manifest)
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", digest(manifest))
		}
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // containerd asks again
	})}}
	var err error
	server.Listener, err = net.Listen("tcp", hostIP+":0")
	require.NoError(t, err)
	server.Start()
	t.Cleanup(server.Close)
	address = server.Listener.Addr().String()
	hosts := fmt.Sprintf("server = %q\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", server.URL, server.URL)
	for _, node := range []string{"node1", "node2"} {
		dir := filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "nodes", node, "certs.d", address)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(hosts), 0o600))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	}
	return address
}

// sleepImage makes an image with a static program at /bin/sleep that waits for a signal.
func sleepImage(t *testing.T) (blobs map[string][]byte, manifest []byte) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sleep")
	build := exec.CommandContext(t.Context(), "go", "-C", "../lab/cluster", "build", "-o", program, "./pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, dir := range []string{"bin/", "tmp/"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o1777}))
	}
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "bin/sleep", Mode: 0o755, Size: int64(len(content))}))
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	type object = map[string]any
	marshal := func(o object) []byte {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		return text
	}
	config := marshal(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": object{"Env": []string{"PATH=/bin"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer.Bytes())}},
	})
	describe := func(kind string, body []byte) object {
		return object{"mediaType": "application/vnd.oci.image." + kind, "digest": digest(body), "size": len(body)}
	}
	manifest = marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": describe("config.v1+json", config), "layers": []object{describe("layer.v1.tar", layer.Bytes())},
	})
	return map[string][]byte{digest(config): config, digest(layer.Bytes()): layer.Bytes()}, manifest
}

// digest returns the name of content in a registry.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

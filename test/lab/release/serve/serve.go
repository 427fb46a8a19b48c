// Package serve runs a registry for a test (test/lab/release/registry).
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/suite/await"
)

// startLimit is how long the registry may take to start.
const startLimit = 30 * time.Second

// Start starts the registry program command at an address of this machine, with its files in dir.
// It returns the registry for images, and a function that stops it.
func Start(ctx context.Context, command, ip, dir string) (r oci.Registry, end func() error, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0")) // only to find a free port
	if err != nil {
		return r, nil, fmt.Errorf("find a port for the registry: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return r, nil, fmt.Errorf("find a port for the registry: %w", err)
	}
	config := filepath.Join(dir, "registry.yaml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n",
		filepath.Join(dir, "registry"), address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return r, nil, fmt.Errorf("configure the registry: %w", err)
	}
	cmd := exec.CommandContext(ctx, command, config)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return r, nil, fmt.Errorf("start the registry: %w", err)
	}
	end = func() error {
		killed := cmd.Process.Kill()
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			return errors.Join(killed, err)
		}
		return killed
	}
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err = await.Until(limited, 50*time.Millisecond, "the registry", func() (bool, error) {
		answer, err := http.Get("http://" + address + "/v2/") //nolint:noctx // it is on this machine, and the request is retried
		if err != nil {
			return false, err
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		return r, nil, errors.Join(err, end())
	}
	return oci.Registry{Path: address + "/musterhq", PlainHTTP: true}, end, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/program"
)

// startLimit is how long the registry may take until it answers.
const startLimit = 30 * time.Second

// serve starts a registry on this machine, and returns it with what ends it.
func serve(ctx context.Context, command, dir string) (r oci.Registry, end func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // only to learn a free port
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
		answer, err := http.Get("http://" + address + "/v2/") //nolint:noctx // it is on this machine, and asked again
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

// manifests looks for the images that the manifests name in the registry.
func (b *bench) manifests(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, "install.yaml"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.tmp, "manifests")
	for _, name := range []string{"muster-kustomize_" + b.number() + ".tar.gz", "muster-chart_" + b.number() + ".tgz"} {
		if err := unpack(filepath.Join(b.dir, name), dir); err != nil {
			return "", err
		}
	}
	overlay, err := os.ReadFile(filepath.Join(dir, "muster-kustomize", "deploy", "kustomization.yaml"))
	if err != nil {
		return "", err
	}
	values, err := os.ReadFile(filepath.Join(dir, "muster", "values.yaml"))
	if err != nil {
		return "", err
	}
	if strings.Contains(string(text), ":"+sourceTag+"\n") {
		return "", fmt.Errorf("install.yaml names an image with the tag %s", sourceTag)
	}
	for _, name := range imageNames {
		i, err := b.image("muster-" + name)
		if err != nil {
			return "", err
		}
		for file, content := range map[string]string{"install.yaml": string(text), "kustomization.yaml": string(overlay), "values.yaml": string(values)} {
			if !strings.Contains(content, i.digest) {
				return "", fmt.Errorf("%s does not name %s@%s", file, i.name, i.digest)
			}
		}
		repo, err := b.served.Repository(i.name)
		if err != nil {
			return "", err
		}
		if _, err := repo.Resolve(ctx, i.digest); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d digests in 3 files", len(imageNames)), nil
}

// helm pulls the chart and renders it.
func (b *bench) helm(ctx context.Context) (string, error) {
	m := program.Module{Dir: filepath.Join(b.root, "test/lab/install/helm"), Path: "helm.sh/helm/v3", Name: "helm",
		Commands: []string{"cmd/helm"}, Stamp: "helm.sh/helm/v3/internal/version.version"}
	programs, err := m.Build(ctx)
	if err != nil {
		return "", err
	}
	helm := filepath.Join(programs, "helm")
	dir := filepath.Join(b.tmp, "helm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if _, err := output(ctx, dir, helm, "pull", "--plain-http", "oci://"+b.served.Path+"/"+chartName, "--version", b.number()); err != nil {
		return "", err
	}
	chart := filepath.Join(dir, "muster-"+b.number()+".tgz")
	pulled, err := os.ReadFile(chart)
	if err != nil {
		return "", err
	}
	released, err := os.ReadFile(filepath.Join(b.dir, "muster-chart_"+b.number()+".tgz"))
	if err != nil {
		return "", err
	}
	if string(pulled) != string(released) {
		return "", errors.New("the chart in the registry is not the released file")
	}
	if _, err := output(ctx, dir, helm, "lint", "--strict", chart); err != nil {
		return "", err
	}
	text, err := output(ctx, dir, helm, "template", "muster", chart, "--kube-version=1.34")
	if err != nil {
		return "", err
	}
	for _, name := range imageNames {
		i, err := b.image("muster-" + name)
		if err != nil {
			return "", err
		}
		if !strings.Contains(text, "/"+i.name+"@"+i.digest) {
			return "", fmt.Errorf("the rendered chart does not name %s@%s", i.name, i.digest)
		}
	}
	if _, err := output(ctx, dir, helm, "template", "muster", chart, "--kube-version=1.34", "--set=image.digest.agent=latest"); err == nil {
		return "", errors.New("values.schema.json admits a digest that is none")
	}
	return "as released; its schema refuses a wrong digest", nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/suite/program"
)

// manifests checks that the registry has the images that the manifests name.
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
		return "", errors.New("values.schema.json accepts an invalid digest")
	}
	return "as released; its schema refuses a wrong digest", nil
}

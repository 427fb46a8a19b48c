package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/lab/release/serve"
	"github.com/musterhq/muster/test/suite/figure"
)

// bench holds a release and the programs and directories that the checks use.
type bench struct {
	dir     string // directory of the release
	tmp     string
	root    string
	version string
	commit  string
	images  []pushed
	served  oci.Registry // a registry on this machine
}

// trial is a check. try returns details for the output if the check passes.
type trial struct {
	what string
	try  func(context.Context) (string, error)
}

func (b *bench) trials() []trial {
	return []trial{
		{"checksums match, and list every file", b.checksums},
		{"newcomer: the README's lines for an archive compute pi on 4 fake workers, without Go", b.newcomer},
		{"linux/amd64 archive: its programs print version, commit and protocol", b.amd64},
		{"linux/arm64 archive: the same under qemu-user", b.arm64},
		{"client archives: the program is of this commit, for its platform", b.clients},
		{"linux/arm64 images start under qemu-user", b.arm64Images},
		{"registry: images for both platforms, with labels and bills of materials", b.registry},
		{"install.yaml, kustomize and chart name images that the registry has", b.manifests},
		{"chart: Helm pulls it from the registry and renders the digests", b.helm},
		{"krew.yaml has each client's archive, with its checksum and program", b.krewManifest},
		{"krew installs and uninstalls the plugin, and kubectl muster answers", b.krew},
		{"pip installs and uninstalls the wheel in a new environment", b.pip},
		{"signatures: cosign verifies each, and refuses a changed file", b.signatures},
	}
}

func check(ctx context.Context, args []string) (err error) {
	if len(args) > 0 {
		return &codeError{exitUsage, errors.New("check takes no arguments")}
	}
	b, err := newBench()
	if err != nil {
		return err
	}
	if b.tmp, err = os.MkdirTemp("", "release-check"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.tmp)) }()
	var end func() error
	if b.served, end, err = serve.Start(ctx, os.Getenv("REGISTRY_PROGRAM"), "127.0.0.1", b.tmp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	failed := 0
	for _, t := range b.trials() {
		seen, err := t.try(ctx)
		verdict := "ok"
		if err != nil {
			verdict, seen = "FAILED", err.Error()
			failed++
		}
		fmt.Printf("%-6s %s: %s\n", verdict, t.what, seen)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(b.trials()))
	}
	return nil
}

// newBench reads the metadata of the release in out/dist.
func newBench() (*bench, error) {
	root, err := figure.Root()
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, dir: filepath.Join(root, "out", "dist")}
	text, err := os.ReadFile(filepath.Join(b.dir, provenanceName))
	if err != nil {
		return nil, fmt.Errorf("find a release (make release VERSION=v0.1.0 makes one): %w", err)
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the provenance: %w", err)
	}
	build := s.Predicate.BuildDefinition
	b.version = build.ExternalParameters["version"]
	b.commit = build.ResolvedDependencies[0].Digest["gitCommit"]
	for _, subject := range s.Subject {
		name, is := strings.CutPrefix(subject.Name, build.ExternalParameters["registry"]+"/")
		if !is {
			continue // a file
		}
		i := pushed{name: name, tag: b.version, digest: "sha256:" + subject.Digest["sha256"]}
		if name == chartName {
			i.tag = b.number()
		}
		b.images = append(b.images, i)
	}
	return b, nil
}

// number returns the version without the v.
func (b *bench) number() string { return strings.TrimPrefix(b.version, "v") }

func (b *bench) checksums(context.Context) (string, error) {
	written, err := os.ReadFile(filepath.Join(b.dir, checksumsName))
	if err != nil {
		return "", err
	}
	present, err := checksums(b.dir)
	if err != nil {
		return "", err
	}
	// Files that are derived from the checksums are not listed in them.
	var files []string
	for _, line := range strings.Split(strings.TrimSpace(present), "\n") {
		_, name, _ := strings.Cut(line, "  ")
		if name != checksumsName && name != provenanceName && !strings.HasSuffix(name, bundleSuffix) {
			files = append(files, line)
		}
	}
	if strings.Join(files, "\n") != strings.TrimSpace(string(written)) {
		return "", fmt.Errorf("the files are\n%s\nand %s has\n%s", strings.Join(files, "\n"), checksumsName, written)
	}
	return fmt.Sprintf("%d files", len(files)), nil
}

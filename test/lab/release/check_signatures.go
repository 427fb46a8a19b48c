package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// signatures signs copies with a temporary key, and verifies them as users do.
func (b *bench) signatures(ctx context.Context) (string, error) {
	dir := filepath.Join(b.tmp, "signed")
	if err := os.CopyFS(dir, os.DirFS(b.dir)); err != nil {
		return "", err
	}
	s := signer{key: filepath.Join(dir, "cosign.key"), dir: dir, env: []string{"COSIGN_PASSWORD="}}
	if err := tool(ctx, dir, s.env, "COSIGN", "generate-key-pair"); err != nil {
		return "", err
	}
	if err := s.files(ctx); err != nil {
		return "", err
	}
	archive := "muster_" + b.number() + "_linux_amd64.tar.gz"
	blob := []string{"verify-blob", "--key", "cosign.pub", "--insecure-ignore-tlog", "--bundle", checksumsName + bundleSuffix, checksumsName}
	proof := []string{"verify-blob-attestation", "--key", "cosign.pub", "--insecure-ignore-tlog", "--type", "slsaprovenance1",
		"--bundle", provenanceName + bundleSuffix, archive}
	for _, args := range [][]string{blob, proof} {
		if err := tool(ctx, dir, nil, "COSIGN", args...); err != nil {
			return "", err
		}
	}
	for _, i := range b.images {
		if err := s.image(ctx, b.served, i); err != nil {
			return "", err
		}
		if err := tool(ctx, dir, nil, "COSIGN", "verify", "--key", "cosign.pub", "--insecure-ignore-tlog", "--allow-http-registry",
			b.served.Path+"/"+i.name+"@"+i.digest); err != nil {
			return "", err
		}
	}
	for file, args := range map[string][]string{checksumsName: blob, archive: proof} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("changed"), 0o600); err != nil {
			return "", err
		}
		if tool(ctx, dir, nil, "COSIGN", args...) == nil {
			return "", errors.New("cosign accepts a changed " + file)
		}
	}
	return fmt.Sprintf("checksums, provenance, %d images and charts", len(b.images)), nil
}

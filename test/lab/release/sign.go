package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// Signatures are sigstore bundles beside the files.
const (
	checksumsName  = "checksums.txt"
	provenanceName = "provenance.intoto.json"
	bundleSuffix   = ".sigstore.json"
)

// signer signs with a key of cosign. Without a key it does nothing.
type signer struct {
	key, dir string
	env      []string // for cosign
}

// offline keeps cosign from the public services of sigstore, which know no key of ours.
var offline = []string{"--use-signing-config=false", "--tlog-upload=false", "--yes"}

// check reports a key that is not there, before anything is built.
func (s signer) check() error {
	if s.key == "" {
		fmt.Println("nothing will be signed: KEY is not set")
		return nil
	}
	if _, err := os.Stat(s.key); err != nil && filepath.Ext(s.key) == ".key" {
		return fmt.Errorf("KEY: %w", err)
	}
	return nil
}

// files signs the checksums and the provenance.
func (s signer) files(ctx context.Context) error {
	if s.key == "" {
		return nil
	}
	sums, statement := filepath.Join(s.dir, checksumsName), filepath.Join(s.dir, provenanceName)
	return errors.Join(
		s.cosign(ctx, "sign-blob", "--bundle", sums+bundleSuffix, sums),
		s.cosign(ctx, "attest-blob", "--statement", statement, "--bundle", statement+bundleSuffix),
	)
}

// image signs an image or chart in a registry, with all its platforms.
func (s signer) image(ctx context.Context, r oci.Registry, i pushed) error {
	if s.key == "" {
		return nil
	}
	args := []string{"--recursive"}
	if r.PlainHTTP {
		args = append(args, "--allow-http-registry")
	}
	return s.cosign(ctx, "sign", append(args, r.Path+"/"+i.name+"@"+i.digest)...)
}

func (s signer) cosign(ctx context.Context, verb string, args ...string) error {
	return tool(ctx, s.dir, s.env, "COSIGN", append(append([]string{verb, "--key", s.key}, offline...), args...)...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// Signatures are sigstore bundles next to the files.
const (
	checksumsName  = "checksums.txt"
	provenanceName = "provenance.intoto.json"
	bundleSuffix   = ".sigstore.json"
)

// signer signs with a cosign key. Without a key it does nothing.
type signer struct {
	key, dir string
	env      []string // variables for cosign
}

// offline prevents cosign from using sigstore's public services, which do not know our keys.
var offline = []string{"--use-signing-config=false", "--tlog-upload=false", "--yes"}

// newSigner accepts the path of a key, or a URI of a key that cosign finds elsewhere. It reports a missing file
// before anything is built.
func newSigner(key, dir string) (signer, error) {
	s := signer{key: key, dir: dir}
	if key == "" || strings.Contains(key, "://") {
		return s, nil
	}
	var err error
	if s.key, err = filepath.Abs(key); err != nil {
		return s, fmt.Errorf("KEY: %w", err)
	}
	if _, err := os.Stat(s.key); err != nil {
		return s, fmt.Errorf("KEY: %w", err)
	}
	return s, nil
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

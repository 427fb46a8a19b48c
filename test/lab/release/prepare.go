package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/suite/man"
)

// pythonVersions turns the parts of a version that Python writes differently (PEP 440).
var pythonVersions = strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc")

// wheelName returns the file name of the Python package of a version without the v.
func wheelName(number string) string {
	return "muster_jobs-" + pythonVersions.Replace(number) + "-py3-none-any.whl"
}

// wheel builds the Python package. Its files have the time of the commit.
func (r release) wheel(ctx context.Context) error {
	epoch := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.created.Unix(), 10)
	return tool(ctx, r.root, []string{epoch}, "MAKE", "wheel", "--no-print-directory", "VERSION="+r.version)
}

// manuals writes the manual pages, which goreleaser packs. They are what the programs print for --help, so
// the programs are built for this machine first.
func (r release) manuals(ctx context.Context) (err error) {
	bin, err := os.MkdirTemp("", "release-manuals")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(bin)) }()
	for _, b := range binaries {
		if _, err := output(ctx, r.root, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace",
			"-ldflags", os.Getenv("LINUX"), "-o", filepath.Join(bin, b.name), b.pkg); err != nil {
			return err
		}
	}
	dir := filepath.Join(r.root, "out", "man")
	if err := os.RemoveAll(dir); err != nil { // it may have pages of verbs that are gone
		return fmt.Errorf("clear: %w", err)
	}
	if _, err := man.Write(ctx, bin, dir, r.created); err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	return nil
}

// Command release makes a release, and checks it:
//
//	release dist -version V [-registry R] [-key K]         make a whole release, in out/dist
//	release check                                          check the release in out/dist: a line for each check
//	release repro -tags T -ldflags F [-arch amd64,arm64]   build twice, and compare the hashes
//	release sbom BINARY...                                 write BINARY.cdx.json and BINARY.spdx.json
//	release vuln [PACKAGE...]                              run govulncheck, on ./cmd/... by default
//
// # dist
//
// make wheel builds the Python package, and goreleaser the binaries and archives (goreleaser.yaml), for
// which dist writes manual pages first. dist adds the images for each platform, with bills of materials
// attached; install.yaml, the folders for kustomize and the chart, which name the images by digest;
// notes, checksums and provenance. With a key, cosign signs checksums and provenance. With a
// registry, images and chart are pushed and signed there. $GORELEASER and $COSIGN are the paths of the
// two programs.
//
// If there is a tag with the version, it must be the commit that is checked out. Otherwise the release is a
// trial, which includes uncommitted changes.
//
// # repro
//
// repro builds agent, agent-launcher and agent-exporter of the checked-out commit twice for each
// architecture, from two clones in directories with different names. Their build
// caches are empty, and their temporary directories, time zones and numbers of
// concurrent compilers differ. It prints a line for each binary, and fails if two
// differ. Uncommitted changes are not included; it prints a warning about them.
//
// # sbom
//
// sbom writes CycloneDX 1.6 and SPDX 2.3 from the data that the linker puts into the binary: its
// modules with versions and checksums, Go's own version, the flags. Licenses are
// read from the modules' files in the module cache. A license that is not recognized
// is an error. The same binary yields the same bytes, because the documents have neither the current time nor
// random numbers.
//
// # vuln
//
// vuln runs govulncheck. Its database, $GOVULNDB or https://vuln.go.dev, must be
// reachable, so this is for release machines.
//
// Exit codes: 0 success; 1 failure, or two builds differ; 3 vulnerabilities were
// found; 64 usage; 69 the vulnerability database is unreachable.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
)

// Exit codes besides 0 and 1; 3 is govulncheck's own.
const (
	exitFound      = 3
	exitUsage      = 64
	exitNoDatabase = 69
)

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "release: "+err.Error())
	code := 1
	var coded *codeError
	if errors.As(err, &coded) {
		code = coded.code
	}
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) error {
	verbs := map[string]func(context.Context, []string) error{"check": check, "dist": dist, "repro": repro, "sbom": sbom, "vuln": vuln}
	if len(args) > 0 {
		if verb, ok := verbs[args[0]]; ok {
			return verb(ctx, args[1:])
		}
	}
	return &codeError{exitUsage, errors.New("missing or unknown verb: use check, dist, repro, sbom or vuln")}
}

// govulncheck is built by the Go version that builds the release. Debian's version is of 2023 and
// cannot read current export data.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"

// database is govulncheck's default.
const database = "https://vuln.go.dev"

func vuln(ctx context.Context, packages []string) (err error) {
	db := os.Getenv("GOVULNDB")
	if db == "" {
		db = database
	}
	if err := reach(ctx, db); err != nil {
		return &codeError{exitNoDatabase, fmt.Errorf("the vulnerability database %s is out of reach (%w): "+
			"run this on a release machine, or set GOVULNDB to a mirror", db, err)}
	}
	root, err := figure.Root()
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = []string{"./cmd/..."}
	}
	dir, err := os.MkdirTemp("", "vuln")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	install := exec.CommandContext(ctx, "go", "install", govulncheck)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("install govulncheck: %w\n%s", err, out)
	}
	check := exec.CommandContext(ctx, filepath.Join(dir, "govulncheck"), append([]string{"-db", db, "-tags", "grpcnotrace"}, packages...)...)
	check.Dir, check.Stdout, check.Stderr = root, os.Stdout, os.Stderr
	err = check.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitFound {
		return &codeError{exitFound, errors.New("vulnerabilities were found")}
	}
	if err != nil {
		return fmt.Errorf("govulncheck: %w", err)
	}
	return nil
}

// reach gets the database's smallest file; see https://go.dev/security/vuln/database.
func reach(ctx context.Context, db string) error {
	u, err := url.Parse(db)
	if err != nil {
		return err
	}
	if u.Scheme == "file" {
		_, err := os.Stat(filepath.Join(u.Path, "index", "db.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("index", "db.json").String(), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.Unwrap(err) // of *url.Error: our message already has the address
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

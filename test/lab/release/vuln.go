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
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
)

// govulncheck, built by the Go that builds the release: Debian's is of 2023 and
// does not read today's export data.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"

// database is govulncheck's own default.
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

// reach asks for the database's smallest file; see https://go.dev/security/vuln/database.
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
		return errors.Unwrap(err) // of *url.Error: the address stands in our sentence already
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

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

	"github.com/musterhq/muster/test/suite/page"
)

const (
	// newcomerLimit is how long the README's lines for an archive may take until they have printed pi.
	newcomerLimit = 30 * time.Second
	// readmeArchive is the archive that these lines fetch, up to its platform.
	readmeArchive = repository + "/releases/download/v0.1.0/muster_0.1.0_"
	// newcomerResult is what they print.
	newcomerResult = "pi is 3.14159265, by 4 ranks"
)

// newcomer runs the README's lines for an archive in an empty directory. They find only the programs that they
// name, so no Go, and fetch the archive from this machine.
func (b *bench) newcomer(ctx context.Context) (_ string, err error) {
	text, err := os.ReadFile(filepath.Join(b.root, "README.md"))
	if err != nil {
		return "", err
	}
	lines, err := archiveLines(string(text))
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := http.Server{Handler: http.FileServer(http.Dir(b.dir)), ReadHeaderTimeout: newcomerLimit}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}()
	lines = strings.ReplaceAll(lines, readmeArchive, "http://"+listener.Addr().String()+"/muster_"+b.number()+"_")

	programs, err := b.programs(ctx, "sh", "curl", "tar", "gzip")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.tmp, "newcomer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, newcomerLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, filepath.Join(programs, "sh"), "-ec", lines)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"PATH=" + programs, "HOME=" + dir}, 5*time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err = errors.Join(err, limited.Err()); err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, lines, out)
	}
	if !strings.Contains(string(out), newcomerResult) {
		return "", fmt.Errorf("%q is not in\n%s", newcomerResult, out)
	}
	return fmt.Sprintf("%.1f s (bar <= %.0f s)", took.Seconds(), newcomerLimit.Seconds()), nil
}

// archiveLines returns the commands of the README that fetch an archive and use it.
func archiveLines(readme string) (string, error) {
	for _, block := range page.Blocks("README.md", readme) {
		if lines := block.Commands(); strings.Contains(lines, readmeArchive) {
			return lines, nil
		}
	}
	return "", errors.New("README.md has no commands with " + readmeArchive)
}

// programs makes a directory with python3 and programs of this machine, and nothing else.
func (b *bench) programs(ctx context.Context, names ...string) (string, error) {
	dir := filepath.Join(b.tmp, "programs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	// The python3 of PATH may be a script that chooses one.
	python, err := output(ctx, b.tmp, "python3", "-c", "import sys; print(sys.executable)")
	if err != nil {
		return "", err
	}
	return dir, os.Symlink(strings.TrimSpace(python), filepath.Join(dir, "python3"))
}

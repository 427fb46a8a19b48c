package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/launch/export"
	"github.com/musterhq/muster/exec/names"
)

// fromBucket prints the lines of agent run --output=s3://BUCKET/PREFIX. agent-exporter, which has a client for S3,
// fetches the files to a temporary directory.
func (f *logsFlags) fromBucket(ctx context.Context, streams Streams, printer jobs.Printer, since time.Time, match func([]byte) bool) (err error) {
	dir, err := os.MkdirTemp("", "muster-logs-")
	if err != nil {
		return failure.New(names.ExitOutput, "set TMPDIR to a directory with room for the files", "--from=%s: %w", f.from, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fetched := f.fetch(ctx, streams, dir)
	if ctx.Err() != nil {
		return exitCode(stopCode(context.Cause(ctx)))
	}
	if _, missing := os.Stat(filepath.Join(dir, indexName)); fetched != nil && missing != nil {
		return fetched
	}
	if err := f.fromFiles(dir, streams, printer, since, match); err != nil {
		return err
	}
	return fetched // what was fetched has been printed
}

// fetch fetches the files to dir.
func (f *logsFlags) fetch(ctx context.Context, streams Streams, dir string) error {
	path := export.Path(names.AgentPath)
	words := []string{"fetch"}
	if f.logs.Which.Rank != nil {
		words = append(words, "-rank", strconv.Itoa(*f.logs.Which.Rank))
	}
	var out, complaints bytes.Buffer
	cmd := osexec.CommandContext(ctx, path, append(words, f.from, dir)...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	var exit *osexec.ExitError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		way := "copy agent-exporter from Muster's image to " + filepath.Dir(path) + ", or run make build in a checkout"
		if runtime.GOOS != "linux" {
			way = "run it in a pod with Muster's image, which has agent-exporter; it is for Linux"
		}
		return failure.New(1, way, "--from=%s: no %s", f.from, path)
	case errors.As(err, &exit):
		problem, hint, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\nhint: ")
		problem = strings.ReplaceAll(strings.TrimPrefix(problem, "agent-exporter: "), "\n", "; ")
		return failure.New(1, hint, "--from=%s: %s", f.from, problem)
	case err != nil:
		return failure.New(1, "", "--from=%s: %w", f.from, err)
	}
	var run string
	var runs int
	if _, err := fmt.Sscan(out.String(), &run, &runs); err == nil && runs > 1 {
		sayer(streams.Err)("%s is the newest of %d runs; --from=%s/%s names it", run, runs, strings.TrimRight(f.from, "/"), run)
	}
	return nil
}

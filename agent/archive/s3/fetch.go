package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/archive"
)

// Runs returns the names of the runs in a store, the oldest first. It lists all objects.
func Runs(ctx context.Context, store Store) (names []string, err error) {
	err = store.List(ctx, "", func(name string, _ int64) error {
		run, _, ok := strings.Cut(name, "/")
		if ok && strings.HasPrefix(run, "run-") && (len(names) == 0 || names[len(names)-1] != run) {
			names = append(names, run)
		}
		return nil
	})
	return names, err
}

// Fetch copies a run to dir, from where package archive reads it. dir must not have an index yet. If a
// piece of a file is missing, Fetch ends the file there, and returns an error when it has the others.
func Fetch(ctx context.Context, store Store, run, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make output directory: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, archive.IndexName)); err == nil {
		return fmt.Errorf("%s has the output of another run", dir)
	}
	sizes, broken := map[string]int64{}, map[string]bool{}
	var lost []error
	err = store.List(ctx, run+"/", func(name string, _ int64) error {
		file, offset, ok := partOf(run, name)
		if !ok || broken[file] {
			return nil
		}
		if offset != sizes[file] {
			broken[file] = true
			lost = append(lost, fmt.Errorf("%s/%s: bytes %d to %d are missing", run, file, sizes[file], offset))
			return nil
		}
		n, err := fetchPart(ctx, store, name, filepath.Join(dir, file), offset == 0)
		sizes[file] += n
		return err
	})
	if err == nil && sizes[archive.IndexName] == 0 {
		err = fmt.Errorf("%s: not an index of output", run)
	}
	if err == nil {
		err = addEmpty(dir)
	}
	return errors.Join(append(lost, err)...)
}

// addEmpty creates the files that the index lists and that have no piece, because they are empty.
func addEmpty(dir string) error {
	index, err := os.ReadFile(filepath.Join(dir, archive.IndexName))
	if err != nil {
		return err
	}
	_, files := archive.Listed(index)
	for _, file := range files {
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// fetchPart appends an object to a file. The first part creates it.
func fetchPart(ctx context.Context, store Store, name, path string, first bool) (n int64, err error) {
	from, err := store.Get(ctx, name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	how := os.O_WRONLY | os.O_APPEND
	if first {
		how = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, how, 0o666)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(f, from)
	return n, errors.Join(err, f.Close())
}

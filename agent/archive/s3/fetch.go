package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/agent/archive"
)

// runPrefix begins the name of a run. Other objects may have such names, too.
const runPrefix = "run-"

// Runs returns the names of the runs in a store, the oldest first. It lists all objects.
func Runs(ctx context.Context, store Store) (names []string, err error) {
	err = store.List(ctx, runPrefix, func(name string, _ int64) error {
		run, _, ok := strings.Cut(name, "/")
		if ok && archive.IsRun(run) && (len(names) == 0 || names[len(names)-1] != run) {
			names = append(names, run)
		}
		return nil
	})
	return names, err
}

// RunOf splits a target that names a run below another target. run is "" if it names none.
func RunOf(t Target) (above Target, run string) {
	if base := path.Base(t.Prefix); archive.IsRun(base) {
		return Target{t.Bucket, strings.Trim(strings.TrimSuffix(t.Prefix, base), "/")}, base
	}
	return t, ""
}

// Fetch copies a run to dir, from where package archive reads it; with rank, only the index and the files of that
// rank. dir must not have an index yet. If a piece of a file is missing, Fetch ends the file there, and returns an
// error when it has the others.
func Fetch(ctx context.Context, store Store, run, dir string, rank *int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make output directory: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, archive.IndexName)); err == nil {
		return fmt.Errorf("%s has the output of another run", dir)
	}
	f := &fetching{store: store, run: run, dir: dir, sizes: map[string]int64{}, broken: map[string]bool{}, ends: map[string]int64{}}
	if err := f.below(ctx, run+"/"+archive.IndexName+"/"); err != nil {
		return err
	}
	if f.sizes[archive.IndexName] == 0 {
		return fmt.Errorf("%s: not an index of output", run)
	}
	if rank == nil {
		return errors.Join(f.below(ctx, run+"/"), f.addEmpty(nil), errors.Join(f.lost...))
	}
	index, err := archive.Read(dir)
	if err != nil {
		return err
	}
	files := index.FilesOf(*rank)
	for _, file := range files {
		if err := f.below(ctx, run+"/"+file+"/"); err != nil {
			return err
		}
	}
	return errors.Join(f.addEmpty(files), errors.Join(f.lost...))
}

// fetching is one call of Fetch.
type fetching struct {
	store    Store
	run, dir string
	sizes    map[string]int64 // of files, as far as they are here
	broken   map[string]bool  // files with a piece that is missing
	lost     []error          // about these

	mu   sync.Mutex
	ends map[string]int64 // where files end of which a piece could not be read, by path
}

// below copies the objects whose names begin with prefix, except those of the index, once it is here.
func (f *fetching) below(ctx context.Context, prefix string) error {
	hasIndex := f.sizes[archive.IndexName] > 0
	fetches, ctx := errgroup.WithContext(ctx)
	fetches.SetLimit(atOnce)
	err := f.store.List(ctx, prefix, func(name string, size int64) error {
		file, offset, ok := partOf(f.run, name)
		if !ok || f.broken[file] || hasIndex && file == archive.IndexName {
			return nil
		}
		if offset != f.sizes[file] {
			f.broken[file] = true
			f.lost = append(f.lost, fmt.Errorf("%s/%s: bytes %d to %d are missing", f.run, file, f.sizes[file], offset))
			return nil
		}
		path := filepath.Join(f.dir, file)
		if offset == 0 {
			if err := create(path); err != nil {
				return err
			}
		}
		f.sizes[file] += size
		fetches.Go(func() error {
			err := fetchPart(ctx, f.store, name, path, offset, size)
			if err != nil {
				f.lack(path, offset)
			}
			return err
		})
		return nil
	})
	if failed := fetches.Wait(); failed != nil {
		err = failed // the list may only say that it was ended
	}
	for path, end := range f.ends {
		if end == 0 {
			err = errors.Join(err, os.Remove(path))
		} else {
			err = errors.Join(err, os.Truncate(path, end))
		}
	}
	return err
}

// lack notes that a file has no byte at an offset, so that what comes after it is of no use.
func (f *fetching) lack(path string, offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end, known := f.ends[path]; !known || offset < end {
		f.ends[path] = offset
	}
}

// create creates a file that does not exist.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

// addEmpty creates the files that have no piece, because they are empty: these, or all that the index lists.
func (f *fetching) addEmpty(files []string) error {
	if files == nil {
		index, err := os.ReadFile(filepath.Join(f.dir, archive.IndexName))
		if err != nil {
			return err
		}
		_, files = archive.Listed(index)
	}
	for _, file := range files {
		f, err := os.OpenFile(filepath.Join(f.dir, file), os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// fetchPart writes an object of that size to its place in a file.
func fetchPart(ctx context.Context, store Store, name, path string, offset, size int64) error {
	from, err := store.Get(ctx, name)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = io.CopyN(io.NewOffsetWriter(f, offset), from, size); err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return errors.Join(err, f.Close())
}

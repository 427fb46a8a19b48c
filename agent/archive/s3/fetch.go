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
	f := &fetching{store: store, run: run, dir: dir, sizes: map[string]int64{}, broken: map[string]bool{}}
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
}

// below copies the objects whose names begin with prefix, except those of the index, once it is here.
func (f *fetching) below(ctx context.Context, prefix string) error {
	hasIndex := f.sizes[archive.IndexName] > 0
	return f.store.List(ctx, prefix, func(name string, _ int64) error {
		file, offset, ok := partOf(f.run, name)
		if !ok || f.broken[file] || hasIndex && file == archive.IndexName {
			return nil
		}
		if offset != f.sizes[file] {
			f.broken[file] = true
			f.lost = append(f.lost, fmt.Errorf("%s/%s: bytes %d to %d are missing", f.run, file, f.sizes[file], offset))
			return nil
		}
		n, err := fetchPart(ctx, f.store, name, filepath.Join(f.dir, file), offset == 0)
		f.sizes[file] += n
		return err
	})
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

package s3

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/agent/archive"
)

const (
	// piece is the size in bytes from which new output is copied at once, and the largest size of an
	// object.
	piece = 8 << 20
	// soonest is how long less output waits for more.
	soonest = 30 * time.Second
	// perSecond bounds the small pieces of all files together.
	perSecond = 10
	// atOnce bounds the files that are copied at the same time. One after the other, the last lines of thousands of
	// ranks would take longer than the end of a run waits.
	atOnce = 16
	// large is the size in bytes from which on only mostLarge pieces are in memory.
	large     = piece / atOnce
	mostLarge = 2
)

// Mirror copies the files of one run to a store. Its methods are called by one goroutine.
type Mirror struct {
	store Store
	dir   string
	name  string           // of the run
	index *os.File         // open from the start, to know the run again
	files []string         // without the index
	sent  map[string]*sent // also of the index
	turns chan struct{}    // has a token for each large piece in memory
}

// sent is how much of a file is in the store. One goroutine at a time uses it.
type sent struct {
	size int64
	at   time.Time // of the last piece
	// tried is the size of a piece whose copy failed; 0: none. It is tried again with the same size. So a
	// request that the server completes late cannot replace a longer piece.
	tried int64
}

// NewMirror returns a Mirror for the run in dir. It continues after the pieces that are in the store.
// The caller must call Close. The error is fs.ErrNotExist if the run has not begun to write.
func NewMirror(ctx context.Context, store Store, dir string) (*Mirror, error) {
	index, err := os.Open(filepath.Join(dir, archive.IndexName))
	if err != nil {
		return nil, err
	}
	m := &Mirror{store: store, dir: dir, index: index, sent: map[string]*sent{archive.IndexName: {}}, turns: make(chan struct{}, mostLarge)}
	// In this order: the first line may be written between the two.
	if err = begun(index); err == nil {
		err = m.list()
	}
	if err == nil && m.name == "" {
		err = fmt.Errorf("%s: not an index of output", index.Name())
	}
	if err == nil {
		err = m.store.List(ctx, m.name+"/", func(name string, size int64) error {
			file, offset, ok := partOf(m.name, name)
			if done := m.sent[file]; ok && done != nil && offset == done.size {
				done.size += size
			}
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, index.Close())
	}
	return m, nil
}

// begun returns fs.ErrNotExist until the first line of an index is complete: before that, the run has not begun to
// write.
func begun(index *os.File) error {
	_, err := bufio.NewReader(io.NewSectionReader(index, 0, math.MaxInt64)).ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has no line yet: %w", index.Name(), fs.ErrNotExist)
	}
	return nil // NewMirror says what else is wrong
}

// partOf splits the name of an object of a run into its file and its offset.
func partOf(run, name string) (file string, offset int64, ok bool) {
	rest, ok := strings.CutPrefix(name, run+"/")
	file, digits, isPart := strings.Cut(rest, "/")
	offset, err := strconv.ParseInt(digits, 10, 64)
	return file, offset, ok && isPart && err == nil && offset >= 0 && file == filepath.Base(file)
}

// objectName returns the name of a piece. Offsets have as many digits as the largest, so that names are
// sorted like them.
func objectName(run, file string, offset int64) string {
	return fmt.Sprintf("%s/%s/%020d", run, file, offset)
}

// whole returns the complete lines of text.
func whole(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }

// Name returns the name of the run in the store.
func (m *Mirror) Name() string { return m.name }

// Run copies what is appended until ctx ends. It passes each error to fail, and tries again later. It calls worked
// after each pass without an error.
func (m *Mirror) Run(ctx context.Context, fail func(error), worked func()) {
	tick := time.NewTicker(soonest / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			switch err := m.Pass(ctx, false); {
			case err == nil:
				worked()
			case ctx.Err() == nil:
				fail(err)
			}
		}
	}
}

// Pass copies new output: all of it, or what is much or has waited long enough. It ends with the first error of
// the store, and the next Pass tries again. After an error of a file it goes on with the next one.
func (m *Mirror) Pass(ctx context.Context, all bool) error {
	if err := m.list(); err != nil {
		return err
	}
	wait := max(soonest, time.Duration(len(m.files)+1)*time.Second/perSecond)
	errs := make([]error, len(m.files), len(m.files)+1)
	var failed atomic.Bool
	var copying errgroup.Group
	copying.SetLimit(atOnce)
	for i, file := range m.files {
		copying.Go(func() error {
			if failed.Load() || ctx.Err() != nil {
				return nil
			}
			errs[i] = m.copy(ctx, file, all, wait)
			if m.sent[file].tried > 0 {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = copying.Wait() // the errors are in errs
	switch {
	case ctx.Err() != nil: // some files have not been looked at
		errs = append(errs, ctx.Err())
	case !failed.Load(): // the index last: it has no lines about missing bytes
		errs = append(errs, m.copy(ctx, archive.IndexName, all, wait))
	}
	return errors.Join(errs...)
}

// list looks for files that the run has begun since the last time.
func (m *Mirror) list() error {
	at, err := m.index.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("read the index of the output: %w", err)
	}
	text, err := io.ReadAll(m.index)
	if err != nil {
		return fmt.Errorf("read the index of the output: %w", err)
	}
	text = whole(text)
	name, files := archive.Listed(text)
	m.name = cmp.Or(m.name, name)
	for _, file := range files {
		if m.sent[file] == nil {
			m.files, m.sent[file] = append(m.files, file), &sent{}
		}
	}
	_, err = m.index.Seek(at+int64(len(text)), io.SeekStart)
	return err
}

// copy copies what is new in a file.
func (m *Mirror) copy(ctx context.Context, file string, all bool, wait time.Duration) error {
	done := m.sent[file]
	f, err := os.Open(filepath.Join(archive.DirOf(m.dir, m.index, m.name), file))
	if errors.Is(err, os.ErrNotExist) { // about to be created, or removed by the user
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	for end := info.Size(); done.size < end; {
		if !all && end-done.size < piece && time.Since(done.at) < wait {
			return nil
		}
		n := min(end-done.size, piece)
		if done.tried > 0 {
			n = done.tried
		}
		if err := m.put(ctx, f, file, n); err != nil {
			return err
		}
	}
	return nil
}

// put copies the next bytes of a file as one piece.
func (m *Mirror) put(ctx context.Context, f *os.File, file string, n int64) error {
	if n >= large {
		select {
		case m.turns <- struct{}{}:
			defer func() { <-m.turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done, body := m.sent[file], make([]byte, n)
	if _, err := f.ReadAt(body, done.size); err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	if err := m.store.Put(ctx, objectName(m.name, file, done.size), body); err != nil {
		done.tried = n
		return err
	}
	*done = sent{size: done.size + n, at: time.Now()}
	return nil
}

// Left returns how many bytes are not in the store yet, and of how many files.
func (m *Mirror) Left() (files int, bytes int64) {
	for _, file := range append(slices.Clone(m.files), archive.IndexName) {
		info, err := os.Stat(filepath.Join(archive.DirOf(m.dir, m.index, m.name), file))
		if err == nil && info.Mode().IsRegular() && info.Size() > m.sent[file].size {
			files, bytes = files+1, bytes+info.Size()-m.sent[file].size
		}
	}
	return files, bytes
}

// Close copies the rest, and ends the mirror.
func (m *Mirror) Close(ctx context.Context) error {
	return errors.Join(m.Pass(ctx, true), m.index.Close())
}

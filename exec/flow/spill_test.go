package flow

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// device returns a function that opens a device instead of a new file.
func device(path string) func(string) (file, error) {
	return func(string) (file, error) { return os.OpenFile(path, os.O_RDWR, 0) }
}

// filesOf returns Files that open a file by the function of its directory. A directory without a
// function gets a real file in dir.
func filesOf(dir string, dirs []string, faults map[string]func(string) (file, error)) *Files {
	return &Files{Dirs: dirs, Budget: NewBudget(64 << 20), open: func(name string) (file, error) {
		if open := faults[name]; open != nil {
			return open(name)
		}
		return openUnlinked(dir)
	}}
}

// stalled writes size bytes into out, without a reader. The returned channel gets the result of the
// writes.
func stalled(out *Out, size int64, sum hash.Hash) chan error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{io.MultiWriter(sum, out)}, io.LimitReader(rand.NewChaCha8([32]byte{7}), size))
		out.End()
		done <- err
	}()
	return done
}

// collect reads everything from out and acknowledges it.
func collect(t *testing.T, out *Out, kicks <-chan struct{}) hash.Hash {
	h := sha256.New()
	buf := make([]byte, 64<<10)
	for {
		p, ok, err := out.Next(buf)
		require.NoError(t, err)
		switch {
		case !ok:
			<-kicks
		case p.End:
			return h
		default:
			h.Write(buf[:p.N])
			require.NoError(t, out.Ack(p.Offset+uint64(p.N)))
		}
	}
}

func TestDirectoriesThatRejectFiles(t *testing.T) {
	full := device("/dev/full")
	readOnly := func(dir string) (file, error) {
		return nil, &os.PathError{Op: "open", Path: dir, Err: syscall.EROFS}
	}
	const size = 12 << 20
	for _, c := range []struct {
		name    string
		dirs    []string
		said    error // the error passed to Failed; nil means that Failed is not called
		waiting bool  // the writer waits for a reader
	}{
		{"full", []string{"full"}, syscall.ENOSPC, true},
		{"read-only", []string{"ro"}, syscall.EROFS, true},
		{"full and read-only", []string{"full", "ro"}, syscall.EROFS, true},
		{"full, then a directory with space", []string{"full", "good"}, nil, false},
		{"read-only, then a directory with space", []string{"ro", "good"}, nil, false},
		{"none", nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := filesOf(t.TempDir(), c.dirs, map[string]func(string) (file, error){"full": full, "ro": readOnly})
			said := make(chan error, 1)
			files.Failed = func(err error) {
				select {
				case said <- err:
				default:
				}
			}
			limits := Limits{Floor: 64 << 10, Stream: 1 << 20, Memory: NewBudget(4 << 20), Files: files}
			if c.dirs == nil {
				limits.Files = nil
			}
			kicks := make(chan struct{}, 1)
			out := NewOut(256<<10, limits, func() {
				select {
				case kicks <- struct{}{}:
				default:
				}
			})
			sum := sha256.New()
			done := stalled(out, size, sum)
			if c.said != nil {
				require.ErrorIs(t, <-said, c.said, "Failed is called while the writer waits")
			}
			if !c.waiting {
				require.NoError(t, <-done, "all bytes fit")
				done <- nil
			} else {
				require.Eventually(t, func() bool { n, _ := out.Total(); return n == 1<<20 }, 10*time.Second, time.Millisecond)
				require.Empty(t, done)
			}
			got := collect(t, out, kicks)
			require.NoError(t, <-done)
			require.Equal(t, sum.Sum(nil), got.Sum(nil))
			require.EqualValues(t, 4<<20, limits.Memory.left)
			require.EqualValues(t, 64<<20, files.Budget.left)
		})
	}
}

// TestFullForAWhile checks that a directory that was full is used again once it has space.
func TestFullForAWhile(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	dir := t.TempDir()
	files := &Files{Dirs: []string{dir}, Budget: NewBudget(64 << 20), open: func(string) (file, error) {
		if full.Load() {
			return device("/dev/full")("")
		}
		return openUnlinked(dir)
	}}
	kicks := make(chan struct{}, 1)
	out := NewOut(1<<20, Limits{Floor: 64 << 10, Stream: 64 << 10, Memory: NewBudget(0), Files: files}, func() {
		select {
		case kicks <- struct{}{}:
		default:
		}
	})
	drain := func(want int) {
		for got := 0; got < want; {
			p, ok, err := out.Next(make([]byte, 64<<10))
			require.NoError(t, err)
			if !ok {
				<-kicks
			}
			got += p.N
			require.NoError(t, out.Ack(p.Offset+uint64(p.N)))
		}
	}
	done := make(chan error, 1)
	go func() { _, err := out.Write(make([]byte, 128<<10)); done <- err }()
	require.Eventually(t, func() bool { n, _ := out.Total(); return n == 64<<10 }, 10*time.Second, time.Millisecond)
	require.Empty(t, done)
	full.Store(false)
	drain(128 << 10)
	require.NoError(t, <-done)
	_, err := out.Write(make([]byte, 1<<20)) // without a reader
	require.NoError(t, err)
	drain(1 << 20)
}

// TestFilesAreForStalledReaders checks that a writer that is too fast for its reader waits for the
// reader. If the reader is stalled, the writer continues into files until the reader moves again.
func TestFilesAreForStalledReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &Files{Dirs: []string{t.TempDir()}, Budget: NewBudget(64 << 20)}
		out := NewOut(256<<10, Limits{Floor: 64 << 10, Stream: 1 << 20, Memory: NewBudget(4 << 20), Files: files}, func() {})
		defer out.Discard()
		done := stalled(out, 12<<20, sha256.New())
		written := func() uint64 {
			synctest.Wait()
			n, _ := out.Total()
			return n
		}
		read := func(n int) {
			for buf := make([]byte, 64<<10); n > 0; n -= len(buf) {
				p, ok, err := out.Next(buf)
				require.NoError(t, err)
				require.True(t, ok)
				require.NoError(t, out.Ack(p.Offset+uint64(p.N)))
				synctest.Wait()
			}
		}
		filed := func() int64 {
			files.Budget.mu.Lock()
			defer files.Budget.mu.Unlock()
			return 64<<20 - files.Budget.left
		}
		require.EqualValues(t, 1<<20, written())
		for i := range 32 { // slow, but never stalled for long
			time.Sleep(stallAfter - time.Millisecond)
			read(64 << 10)
			require.EqualValues(t, 1<<20+(i+1)*64<<10, written())
		}
		require.Zero(t, filed())

		time.Sleep(stallAfter + time.Millisecond)
		require.EqualValues(t, 12<<20, written())
		require.NoError(t, <-done)
		require.Positive(t, filed())
		read(10 << 20)
		require.Zero(t, filed())
	})
}

// TestFilesAreDrainedFirst checks that a reader that moves again gets the bytes in files before the
// writer continues.
func TestFilesAreDrainedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &Files{Dirs: []string{t.TempDir()}, Budget: NewBudget(3 << 20)}
		kicks := make(chan struct{}, 1)
		out := NewOut(256<<10, Limits{Floor: 64 << 10, Stream: 1 << 20, Memory: NewBudget(1 << 20), Files: files}, func() {
			select {
			case kicks <- struct{}{}:
			default:
			}
		})
		sum := sha256.New()
		done := stalled(out, 12<<20, sum)
		time.Sleep(time.Minute)
		n, _ := out.Total()
		require.EqualValues(t, 4<<20, n, "memory and files are full")
		got := collect(t, out, kicks)
		require.NoError(t, <-done)
		require.Equal(t, sum.Sum(nil), got.Sum(nil))
		require.EqualValues(t, 3<<20, files.Budget.left)
	})
}

// TestSpillFilesAreFreedWhileReading checks that files are freed while there are newer files: a
// reader that always lags needs no more disk space than its lag.
func TestSpillFilesAreFreedWhileReading(t *testing.T) {
	synctest.Test(t, freedWhileReading)
}

func freedWhileReading(t *testing.T) {
	dir := t.TempDir()
	files := &Files{Dirs: []string{dir}, Budget: NewBudget(3 * segmentSize)}
	out := NewOut(256<<10, Limits{Floor: 64 << 10, Stream: 64 << 10, Memory: NewBudget(0), Files: files}, func() {})
	ahead := make([]byte, 2*segmentSize)
	_, err := out.Write(ahead)
	require.NoError(t, err)
	lag := len(ahead)
	for range 64 { // 64 times 1 MiB is far more than the budget
		_, err := out.Write(ahead[:1<<20])
		require.NoError(t, err)
		for lag += 1 << 20; lag > len(ahead); {
			p, ok, err := out.Next(ahead[:256<<10])
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, out.Ack(p.Offset+uint64(p.N)))
			lag -= p.N
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "spill files have no name")
	out.Discard()
	require.EqualValues(t, 3*segmentSize, files.Budget.left)
}

// TestUnreadableSpillFile checks that Next returns an error for a spill file that can no longer be
// read.
func TestUnreadableSpillFile(t *testing.T) {
	var disk *os.File
	files := filesOf("", []string{"d"}, map[string]func(string) (file, error){"d": func(string) (file, error) {
		f, err := openUnlinked(t.TempDir())
		disk, _ = f.(*os.File)
		return f, err
	}})
	out := NewOut(1<<20, Limits{Floor: 64 << 10, Stream: 64 << 10, Memory: NewBudget(0), Files: files}, func() {})
	_, err := out.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, disk.Truncate(0))
	buf := make([]byte, 64<<10)
	_, ok, err := out.Next(buf)
	require.NoError(t, err)
	require.True(t, ok, "the bytes in memory are still available")
	_, _, err = out.Next(buf)
	require.ErrorContains(t, err, "read spill file: ")
	require.False(t, errors.Is(err, ErrClosed))
	out.Discard()
}

// slowFile is a file on a disk that hangs until on is closed.
type slowFile struct {
	file
	at chan<- string
	on <-chan struct{}
}

func (s slowFile) WriteAt(p []byte, off int64) (int, error) {
	s.at <- "write"
	<-s.on
	return s.file.WriteAt(p, off)
}

// TestDiskThatHangs checks that a disk that hangs delays the writer, but not the goroutines that
// ask for bytes to send, because they also serve other streams.
func TestDiskThatHangs(t *testing.T) {
	for _, discard := range []bool{false, true} {
		at, on := make(chan string), make(chan struct{})
		files := filesOf("", []string{"d"}, map[string]func(string) (file, error){"d": func(string) (file, error) {
			at <- "create"
			<-on
			f, err := openUnlinked(t.TempDir())
			return slowFile{f, at, on}, err
		}})
		out := NewOut(1<<20, Limits{Floor: 64 << 10, Stream: 64 << 10, Memory: NewBudget(0), Files: files}, func() {})
		done := make(chan error, 1)
		go func() { _, err := out.Write(make([]byte, 100<<10)); done <- err }()
		require.Equal(t, "create", <-at)
		buf := make([]byte, 1<<20)
		p, ok, err := out.Next(buf)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, 64<<10, p.N, "the bytes in memory can be sent in the meantime")
		on <- struct{}{}
		require.Equal(t, "write", <-at)
		require.NoError(t, out.Ack(64<<10))
		require.Zero(t, out.InFlight())
		if discard {
			out.Discard()
			close(on)
			require.ErrorIs(t, <-done, ErrClosed)
		} else {
			close(on)
			require.NoError(t, <-done)
			p, ok, err = out.Next(buf)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, Piece{Offset: 64 << 10, N: 36 << 10}, p)
			require.NoError(t, out.Ack(100<<10))
		}
		require.EqualValues(t, 64<<20, files.Budget.left)
	}
}

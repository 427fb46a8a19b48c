package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestManyRunsBeginAtOnce has runs begin at the same time in a directory with an earlier run. No file of any of them is
// lost, and the files of each run stay together.
func TestManyRunsBeginAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // so that the kernel runs them in any order
	for range 100 {
		dir := t.TempDir()
		old, err := shortRun(dir, "old")
		require.NoError(t, err)
		var all sync.WaitGroup
		errs, names := make([]error, 6), make([]string, 6)
		start := make(chan struct{})
		for i := range errs {
			all.Go(func() {
				<-start
				names[i], errs[i] = shortRun(dir, fmt.Sprint("new", i))
			})
		}
		close(start)
		all.Wait()

		want := map[string]string{old: "0 rank 0: old\n0 rank 1: old\n"}
		for i, err := range errs {
			var busy *busyError
			if errors.As(err, &busy) {
				continue // it has said so, and written nothing
			}
			require.NoError(t, err)
			want[names[i]] = fmt.Sprintf("0 rank 0: new%[1]d\n0 rank 1: new%[1]d\n", i)
		}
		require.Greater(t, len(want), 1)
		x, err := Read(dir)
		require.NoError(t, err)
		newest := asideName(record{Run: x.ID, At: x.Began})
		require.Contains(t, want, newest)
		for name, text := range want {
			at := filepath.Join(dir, name)
			if name == newest {
				at = dir
			}
			require.Equal(t, text, shown(t, at, Choice{}), name)
		}
		require.NoError(t, os.RemoveAll(dir))
	}
}

// shortRun is a run of two ranks that does not wait for the disk. It returns its name.
func shortRun(dir, id string) (name string, err error) {
	w, err := Open(dir, Run{ID: id})
	if err != nil {
		return "", err
	}
	defer w.index.Close()
	w.Begin(0)
	for rank := range 2 {
		out, complaints, err := w.Streams(Process{Label: fmt.Sprint("rank ", rank), Rank: rank})
		if err != nil {
			return "", err
		}
		_, err = io.WriteString(out, id+"\n")
		if err := errors.Join(err, out.(*file).to.Close(), complaints.Close()); err != nil {
			return "", err
		}
	}
	return w.Name(), nil
}

// TestALockThatIsNeverReleased checks a process that holds the lock of a run for good, as on a file system that lost
// the end of its holder. A new run says that the directory is busy, and the run itself opens its files.
func TestALockThatIsNeverReleased(t *testing.T) {
	dir := t.TempDir()
	one := begin(t, dir, "one")
	holder, err := openToLock(filepath.Join(dir, IndexName))
	require.NoError(t, err)
	defer holder.Close()
	require.True(t, lock(holder))
	synctest.Test(t, func(t *testing.T) {
		var busy *busyError
		_, err := Open(dir, Run{ID: "two"})
		require.ErrorAs(t, err, &busy)
		one.w.Begin(0)
		one.write(0, "one\n", "")
	})
	require.Equal(t, "0 rank 0: one\n", shown(t, dir, Choice{}))
}

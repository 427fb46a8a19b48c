package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// job is a run that writes to a directory.
type job struct {
	t *testing.T
	w *Writer
}

func begin(t *testing.T, dir, id string) job {
	w, err := Open(dir, Run{ID: id, Job: "bert", Namespace: "lab", Version: "v1"})
	require.NoError(t, err)
	return job{t, w}
}

// write opens the streams of a rank, writes a text to each and closes them.
func (j job) write(rank int, out, complaints string) {
	stdout, stderr := j.streams(rank)
	_, err := io.WriteString(stdout, out)
	require.NoError(j.t, err)
	_, err = io.WriteString(stderr, complaints)
	require.NoError(j.t, err)
	require.NoError(j.t, stdout.Close())
	require.NoError(j.t, stderr.Close())
}

func (j job) streams(rank int) (stdout, stderr io.WriteCloser) {
	stdout, stderr, err := j.w.Streams(Process{Label: fmt.Sprint("rank ", rank), Rank: rank, Worker: fmt.Sprint("bert-worker-", rank), Node: "n1"})
	require.NoError(j.t, err)
	return stdout, stderr
}

// shown returns the chosen lines of the run in dir, each after its attempt and label.
func shown(t *testing.T, dir string, choice Choice) (text string) {
	t.Helper()
	x, err := Read(dir)
	require.NoError(t, err)
	require.NoError(t, x.Lines(choice, func(l Line) error {
		text += fmt.Sprintf("%d %s: %s\n", l.Attempt, l.Label, l.Text)
		return nil
	}))
	return text
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// TestFilesAreWhatTheRankWrote checks that a file has the bytes of its rank in all attempts, and that the index tells
// the attempts apart.
func TestFilesAreWhatTheRankWrote(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	j := begin(t, dir, "one")
	j.w.Begin(0)
	j.write(0, "a\nno end", "b")
	j.write(1, "x\n", "")
	j.w.End(1, "rank 0 exited with 1")
	j.w.Begin(1)
	j.write(0, "c\n", "")
	j.w.End(0, "")
	require.NoError(t, j.w.Close(0, ""))
	require.Equal(t, "a\nno endc\n", content(t, dir, "rank-0.out"))
	require.Equal(t, "b", content(t, dir, "rank-0.err"))
	x, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, Run{ID: "one", Job: "bert", Namespace: "lab", Version: "v1"}, x.Run)
	require.False(t, x.Ended.IsZero())
	require.Len(t, x.Attempts, 2)
	require.Equal(t, "rank 0 exited with 1", x.Attempts[0].Why)
	require.Equal(t, 1, x.Attempts[0].Code)
	require.Equal(t, Process{Label: "rank 1", Rank: 1, Worker: "bert-worker-1", Node: "n1"}, x.Attempts[0].Processes[1].Process)
	require.Equal(t, Span{"rank-0.out", 8, toEnd}, x.Attempts[1].Processes[0].Stdout)
	require.Equal(t, "0 rank 0: a\n0 rank 0: no end\n0 rank 0: b\n0 rank 1: x\n1 rank 0: c\n", shown(t, dir, Choice{}))
	require.Equal(t, "1 rank 0: c\n", shown(t, dir, Choice{Attempt: new(1)}))
	require.Equal(t, "0 rank 1: x\n", shown(t, dir, Choice{Rank: new(1)}))
	require.Equal(t, "0 rank 0: b\n0 rank 1: x\n1 rank 0: c\n", shown(t, dir, Choice{Tail: 2}))
	require.Equal(t, "0 rank 1: x\n1 rank 0: c\n", shown(t, dir, Choice{Match: func(l []byte) bool { return strings.ContainsAny(string(l), "cx") }}))
}

// TestTimes checks that lines of several ranks come in the order in which they were written, and that Since leaves out
// older ones, but no newer one.
func TestTimes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := begin(t, dir, "one")
		j.w.Begin(0)
		zero, _ := j.streams(0)
		one, _ := j.streams(1)
		began := time.Now()
		for i := range 40 {
			_, err := fmt.Fprintf(zero, "z%d\nhalf", i)
			require.NoError(t, err)
			time.Sleep(time.Second)
			_, err = fmt.Fprintf(zero, " %d\n", i)
			require.NoError(t, err)
			_, err = fmt.Fprintf(one, "o%d\n", i)
			require.NoError(t, err)
		}
		require.NoError(t, zero.Close())
		require.NoError(t, one.Close())
		j.w.End(0, "")
		require.NoError(t, j.w.Close(0, ""))
		all := shown(t, dir, Choice{})
		require.Equal(t, 120, strings.Count(all, "\n"))
		for i := range 40 {
			require.Contains(t, all, fmt.Sprintf("0 rank 0: half %d\n", i))
		}
		require.Less(t, strings.Index(all, "rank 1: o5\n"), strings.Index(all, "rank 0: z25\n"))
		require.Less(t, strings.Index(all, "rank 0: z5\n"), strings.Index(all, "rank 1: o25\n"))
		late := shown(t, dir, Choice{Since: began.Add(25 * time.Second)})
		require.Contains(t, late, "rank 1: o25\n")
		require.Contains(t, late, "rank 0: z25\n")
		require.NotContains(t, late, "rank 0: z9\n")
		require.Less(t, strings.Count(content(t, dir, IndexName), kindTime), 2*(40/10+1), "the index must stay small")
	})
}

// TestManyFilesHaveFewTimes checks the bound on lines of the index with a thousand files.
func TestManyFilesHaveFewTimes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := begin(t, dir, "one")
		j.w.Begin(0)
		var all []io.WriteCloser
		for rank := range 500 {
			out, complaints := j.streams(rank)
			all = append(all, out, complaints)
		}
		before := strings.Count(content(t, dir, IndexName), "\n")
		const lasts = 300 * time.Second
		for began := time.Now(); time.Since(began) < lasts; time.Sleep(20 * time.Second) {
			for _, f := range all {
				_, err := io.WriteString(f, "line\n")
				require.NoError(t, err)
			}
		}
		lines := strings.Count(content(t, dir, IndexName), "\n") - before
		require.LessOrEqual(t, lines, int(timesPerSecond*lasts/time.Second))
		require.Positive(t, lines)
		for _, f := range all {
			require.NoError(t, f.Close())
		}
		require.NoError(t, j.w.Close(0, ""))
	})
}

// TestEarlierRunsAreKept checks that a run overwrites nothing of the one before.
func TestEarlierRunsAreKept(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"one", "two", "three"} {
		j := begin(t, dir, id)
		j.w.Begin(0)
		j.write(0, id+"\n", "")
		require.NoError(t, j.w.Close(0, ""))
	}
	require.Equal(t, "0 rank 0: three\n", shown(t, dir, Choice{}))
	for _, id := range []string{"one", "two"} {
		below, err := filepath.Glob(filepath.Join(dir, "run-*-"+id))
		require.NoError(t, err)
		require.Len(t, below, 1)
		require.Equal(t, "0 rank 0: "+id+"\n", shown(t, below[0], Choice{}))
	}
}

// TestTwoRunsInOneDirectory checks that a launcher that is still alive when another one begins does not write into the
// files of that one.
func TestTwoRunsInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	one := begin(t, dir, "one")
	one.w.Begin(0)
	out, _ := one.streams(0)
	_, err := io.WriteString(out, "old\n")
	require.NoError(t, err)
	two := begin(t, dir, "two")
	two.w.Begin(0)
	two.write(0, "new\n", "")
	_, err = io.WriteString(out, "old, late\n")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	one.w.Begin(1)
	one.write(0, "old, again\n", "")
	require.NoError(t, one.w.Close(0, ""))
	require.NoError(t, two.w.Close(0, ""))
	require.Equal(t, "0 rank 0: new\n", shown(t, dir, Choice{}))
	below, err := filepath.Glob(filepath.Join(dir, "run-*-one"))
	require.NoError(t, err)
	require.Len(t, below, 1)
	require.Equal(t, "0 rank 0: old\n0 rank 0: old, late\n1 rank 0: old, again\n", shown(t, below[0], Choice{}))
}

// TestOtherFilesAreNotTouched checks that a file that no run has written stops each attempt of the run.
func TestOtherFilesAreNotTouched(t *testing.T) {
	var taken *takenError
	dir := t.TempDir()
	theirs := filepath.Join(dir, "rank-0.out")
	require.NoError(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	j := begin(t, dir, "one")
	for attempt := range 2 {
		j.w.Begin(attempt)
		_, _, err := j.w.Streams(Process{Label: "rank 0"})
		require.ErrorAs(t, err, &taken, "attempt %d", attempt)
		require.Equal(t, theirs, taken.path)
	}
	require.NoError(t, j.w.Close(0, ""))
	_, err := Open(dir, Run{ID: "two"})
	require.NoError(t, err)
	require.Equal(t, "theirs", content(t, theirs))

	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte("{\"mine\": 1}\n"), 0o644))
	_, err = Open(dir, Run{ID: "one"})
	require.ErrorAs(t, err, &taken)
	require.Equal(t, "{\"mine\": 1}\n", content(t, dir, IndexName))
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), nil, 0o644))
	_, err = Open(dir, Run{ID: "one"})
	var busy *busyError
	require.ErrorAs(t, err, &busy, "another run may be about to write its first line")
	ago := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, IndexName), ago, ago))
	_, err = Open(dir, Run{ID: "one"})
	require.NoError(t, err, "an empty index was left by a run that was killed")
	_, err = Open(theirs, Run{})
	require.Error(t, err)
}

// TestAStrangersIndex checks that an index cannot name files outside of its directory.
func TestAStrangersIndex(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(filepath.Dir(dir), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret\n"), 0o600))
	line := `{"kind":"process","attempt":0,"rank":0,"stdout":{"file":%q},"stderr":{"file":"rank-0.err"}}` + "\n"
	text := `{"kind":"run","run":"one"}` + "\n" + `{"kind":"attempt","attempt":0}` + "\n" + fmt.Sprintf(line, "../secret") + fmt.Sprintf(line, secret) +
		`{"kind":"file","file":"../secret"}` + "\n" + `{"kind":"later"}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(text), 0o644))
	require.Empty(t, shown(t, dir, Choice{}))
	begin(t, dir, "two")
	require.Equal(t, "secret\n", content(t, secret))
}

// TestReadErrors checks what a reader is told.
func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte("{}\n"), 0o644))
	_, err = Read(dir)
	require.ErrorContains(t, err, "not an index of output")

	dir = t.TempDir()
	j := begin(t, dir, "one")
	j.w.Begin(0)
	j.write(0, "a\n", "")
	j.write(1, "b\n", "")
	require.NoError(t, j.w.Close(0, ""))
	require.NoError(t, os.Remove(filepath.Join(dir, "rank-0.out")))
	x, err := Read(dir)
	require.NoError(t, err)
	var lines []string
	err = x.Lines(Choice{}, func(l Line) error { lines = append(lines, string(l.Text)); return nil })
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, []string{"b"}, lines)
	stop := errors.New("stop")
	require.ErrorIs(t, x.Lines(Choice{Rank: new(1)}, func(Line) error { return stop }), stop)
	require.ErrorIs(t, x.Lines(Choice{Rank: new(1), Tail: 1}, func(Line) error { return stop }), stop)
}

// TestLongLines checks that a line of any length arrives.
func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	j := begin(t, dir, "one")
	j.w.Begin(0)
	long := strings.Repeat("x", 2*longest+5)
	j.write(0, long+"\ny\n", "")
	require.NoError(t, j.w.Close(0, ""))
	require.Equal(t, long+"y", strings.NewReplacer("0 rank 0: ", "", "\n", "").Replace(shown(t, dir, Choice{})))
}

// TestAFullDisk checks that a file on a full disk reports that, and that the index goes on.
func TestAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, "rank-0.out")))
	j := begin(t, dir, "one")
	j.w.Begin(0)
	out, _ := j.streams(0)
	_, err := io.WriteString(out, "a\n")
	require.ErrorContains(t, err, "no space left on device")
	require.NoError(t, out.Close())
	require.NoError(t, j.w.Close(74, ""))
}

// TestALineThatWasCutShort checks that the index keeps what follows a line of which only the beginning
// could be written, as on a disk that was full for a while. A full pipe takes its place.
func TestALineThatWasCutShort(t *testing.T) {
	reads, index, err := os.Pipe()
	require.NoError(t, err)
	defer reads.Close()
	w := &Writer{index: index}
	var reading sync.WaitGroup
	reading.Go(func() {
		_, _ = reads.Read(make([]byte, 1)) // the beginning is written
		_ = index.SetWriteDeadline(time.Now())
	})
	require.ErrorIs(t, w.note(record{Kind: kindAttemptEnded, Why: strings.Repeat("x", 1<<20)}), os.ErrDeadlineExceeded)
	reading.Wait()
	require.NoError(t, index.SetWriteDeadline(time.Time{}))
	var text []byte
	reading.Go(func() { text, _ = io.ReadAll(reads) })
	require.NoError(t, w.note(record{Kind: kindFile, File: "rank-0.out"}))
	require.NoError(t, w.note(record{Kind: kindFile, File: "rank-1.out"}))
	require.NoError(t, index.Close())
	reading.Wait()
	_, files := Listed(text)
	require.Equal(t, []string{"rank-0.out", "rank-1.out"}, files)
	require.Equal(t, 3, strings.Count(string(text), "\n"), "there are no empty lines")
}

// TestWritersAtOnce checks that the index has whole lines when many processes start and write at once.
func TestWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	j := begin(t, dir, "one")
	j.w.Begin(0)
	var all sync.WaitGroup
	for rank := range 50 {
		all.Go(func() { j.write(rank, "a\n", "b\n") })
	}
	all.Wait()
	require.NoError(t, j.w.Close(0, ""))
	require.Equal(t, 100, strings.Count(shown(t, dir, Choice{}), "\n"))
}

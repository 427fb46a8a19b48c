//go:build linux

package console

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/exec/names"
)

// slow is a standard output that may be slow or fail.
type slow struct {
	bytes.Buffer
	wait int // how often a write yields to other goroutines
	err  error
}

func (s *slow) Write(p []byte) (int, error) {
	for range s.wait {
		runtime.Gosched()
	}
	if s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}

// metered is a meter whose input comes through a tee.
type metered struct {
	*Meter
	tee  *Tee
	lost Loss // write errors of the destination
}

func newMetered(t *testing.T, to io.Writer) (*metered, *os.File, *Voice, *bytes.Buffer, *sync.WaitGroup) {
	t.Helper()
	m := &metered{Meter: NewMeter([]string{"loss"}, filepath.Join(t.TempDir(), "m.json"), metrics.TagsSure, false)}
	tee, in, err := NewTee(to, m.Mixed(), func(err error) { m.lost.Note(err) })
	require.NoError(t, err)
	m.tee = tee
	var wg sync.WaitGroup
	wg.Go(tee.Copy)
	said := &bytes.Buffer{}
	return m, in, &Voice{Out: said}, said, &wg
}

func TestTeeIsByteIdentical(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(random.UintN(256))
	}
	want = append(want, "\nloss=0.5\nloss=0.25"...)
	out := &slow{wait: 100}
	m, in, v, said, wg := newMetered(t, out)
	for rest := want; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(100_000))
		_, err := in.Write(rest[:n])
		require.NoError(t, err)
		rest = rest[n:]
	}
	require.NoError(t, in.Close())
	m.tee.drain(v)
	require.NoError(t, m.Report(v))
	m.tee.finish()
	wg.Wait()
	require.True(t, bytes.Equal(want, out.Bytes()))
	require.Contains(t, said.String(), "agent: metric loss: last 0.25, most 0.5, least 0.25; 2 values of rank 0\n")
	text, err := os.ReadFile(m.paths[0])
	require.NoError(t, err)
	require.Equal(t, `{"metrics":[{"name":"loss","numberValue":0.25,"format":"RAW"}]}`+"\n", string(text))
}

// TestTeeWithoutAnEnd checks that the tee also copies the output of a program that the command left
// behind, which still has the command's standard output.
func TestTeeWithoutAnEnd(t *testing.T) {
	out := &slow{}
	m, in, v, said, wg := newMetered(t, out)
	_, err := in.WriteString("loss=1\n")
	require.NoError(t, err)
	m.tee.drain(v)
	require.NoError(t, m.Report(v))
	require.Contains(t, said.String(), "metric loss: last 1,")
	_, err = in.WriteString("later\n")
	require.NoError(t, err)
	m.tee.finish()
	wg.Wait()
	require.Equal(t, "loss=1\nlater\n", out.String())
	_, err = in.WriteString("nobody")
	require.ErrorIs(t, err, syscall.EPIPE)
	require.NoError(t, in.Close())
}

func TestTeeEndsDespiteAnEndlessWriter(t *testing.T) {
	m, in, _, _, wg := newMetered(t, &slow{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			if _, err := in.WriteString(strings.Repeat("x", 4096)); err != nil {
				return
			}
		}
	})
	m.tee.finish()
	wg.Wait()
	writing.Wait()
	require.NoError(t, in.Close())
}

func TestTeeWithAFailingDestination(t *testing.T) {
	for _, cause := range []error{syscall.EPIPE, syscall.ENOSPC} {
		m, in, v, _, wg := newMetered(t, &slow{err: cause})
		_, err := in.WriteString("loss=1\n")
		require.NoError(t, err)
		wg.Wait()
		_, err = in.WriteString("more\n")
		require.ErrorIs(t, err, syscall.EPIPE, "the command gets the error too")
		m.tee.drain(v)
		m.tee.finish()
		require.ErrorIs(t, m.lost.Err(), cause)
		require.NoError(t, in.Close())
	}
}

// TestTeeBlocksAsPipesDo checks that the command's standard output blocks, because a command does
// not expect EAGAIN from it.
func TestTeeBlocksAsPipesDo(t *testing.T) {
	m, in, _, _, wg := newMetered(t, &slow{})
	flags, err := unix.FcntlInt(in.Fd(), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.Zero(t, flags&unix.O_NONBLOCK)
	require.NoError(t, in.Close())
	m.tee.finish()
	wg.Wait()
}

type closing struct {
	bytes.Buffer
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return errors.New("closed")
}

func TestWatch(t *testing.T) {
	var none *Meter
	place := &closing{}
	require.Equal(t, io.WriteCloser(place), none.Watch(0, place))
	require.Nil(t, none.Watch(0, nil))
	require.NoError(t, none.Report(nil))

	m := NewMeter([]string{"loss"}, "", metrics.TagsSure, true)
	require.Equal(t, []string{"/mlpipeline-metrics.json", "mlpipeline-metrics.json"}, m.paths)
	shown, hidden := m.Watch(3, place), m.Watch(2, nil)
	_, err := shown.Write([]byte("a loss=3\nlo"))
	require.NoError(t, err)
	n, err := hidden.Write([]byte("loss=2"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.ErrorContains(t, shown.Close(), "closed")
	require.NoError(t, hidden.Close())
	require.Equal(t, "a loss=3\nlo", place.String())
	require.Equal(t, 2.0, m.seen.Series()[0].Last)
	require.Equal(t, 2, m.seen.Series()[0].Rank)
	require.Nil(t, NewMeter(nil, "", metrics.TagsSure, true))
}

func TestMetricsFileElsewhere(t *testing.T) {
	dir := t.TempDir()
	m := NewMeter([]string{"loss"}, "", metrics.TagsSure, false)
	said := &bytes.Buffer{}
	m.paths = []string{"/proc/sys/m.json", filepath.Join(dir, "m.json")}
	require.NoError(t, m.Report(&Voice{Out: said}))
	require.Equal(t, "agent: metric loss was never seen\nagent: 0 metrics written to "+m.paths[1]+"\n", said.String())
	said.Reset()
	m.paths = []string{filepath.Join(dir, "no", "m.json")}
	require.NoError(t, m.Report(&Voice{Out: said}), "a missing file is no error if the user did not ask for one")
	require.Contains(t, said.String(), "agent: metrics not written (--metrics-file=FILE writes them elsewhere): write "+m.paths[0]+": ")
	said.Reset()
	m = NewMeter([]string{"loss"}, m.paths[0], metrics.TagsSure, false)
	err := m.Report(&Voice{Out: said, Quiet: true})
	require.ErrorContains(t, err, "write metrics: write "+m.paths[0]+": ")
	require.Equal(t, names.ExitOutput, failure.CodeOf(err))
	var f *failure.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "--metrics-file=FILE writes them elsewhere", f.Way)
}

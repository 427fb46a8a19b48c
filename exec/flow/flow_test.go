package flow

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transfer connects an Out and an In in memory, with random cuts. At a cut, bytes in flight are
// lost, and both sides resume by offsets.
func transfer(t *testing.T, rng *rand.Rand, out *Out, in *In, kicks <-chan struct{}, cutChance int) {
	buf := make([]byte, 1+rng.IntN(100<<10))
	for !in.Finished() {
		if rng.IntN(cutChance) == 0 {
			time.Sleep(time.Duration(rng.Int64N(int64(2 * stallAfter)))) // until the next connection
			require.NoError(t, out.Resume(in.Received()))
		}
		pending := out.Pending()
		p, ok, err := out.Next(buf)
		require.NoError(t, err)
		require.True(t, ok || !pending, "Pending reported bytes, but Next had none")
		switch {
		case !ok:
			require.NoError(t, out.Ack(in.Written()))
			<-kicks
		case p.End:
			if rng.IntN(4) == 0 { // the EOF is lost
				require.NoError(t, out.Resume(in.Received()))
				continue
			}
			require.NoError(t, in.End(p.Offset))
		default:
			b := buf[:p.N]
			if rng.IntN(cutChance) == 0 { // only a part of the bytes arrives before the cut
				b = b[:rng.IntN(len(b)+1)]
				require.NoError(t, in.Put(p.Offset, b))
				require.NoError(t, out.Resume(in.Received()))
				continue
			}
			require.NoError(t, in.Put(p.Offset, b))
		}
		if rng.IntN(3) == 0 {
			require.NoError(t, out.Ack(in.Written()))
		}
	}
}

func TestBytesSurviveCuts(t *testing.T) {
	for _, c := range []struct {
		name          string
		size, cuts    int
		spill         bool
		memory, file  int64
		stream, floor int
	}{
		{"no cuts", 2 << 20, 1 << 30, false, 1 << 20, 0, 1 << 20, 64 << 10},
		{"cuts, memory only", 2 << 20, 5, false, 1 << 20, 0, 512 << 10, 64 << 10},
		{"cuts, no budget", 2 << 20, 5, false, 0, 0, 512 << 10, 32 << 10},
		{"cuts, spill", 4 << 20, 5, true, 256 << 10, 64 << 20, 128 << 10, 64 << 10},
		{"cuts, full spill files", 4 << 20, 5, true, 256 << 10, 1 << 20, 128 << 10, 64 << 10},
		{"cuts, several spill files", 18 << 20, 50, true, 256 << 10, 64 << 20, 128 << 10, 64 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				rng := rand.New(rand.NewPCG(seed, 1))
				data := make([]byte, c.size+rng.IntN(1000))
				_, err := io.ReadFull(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}), data)
				require.NoError(t, err)
				spilled := false
				limits := Limits{Floor: c.floor, Stream: c.stream, Memory: NewBudget(c.memory)}
				if c.spill {
					limits.Files = &Files{Dirs: []string{t.TempDir()}, Budget: NewBudget(c.file), open: func(dir string) (file, error) {
						spilled = true
						return openUnlinked(dir)
					}}
				}
				kicks := make(chan struct{}, 1)
				kick := func() {
					select {
					case kicks <- struct{}{}:
					default:
					}
				}
				out := NewOut(256<<10, limits, kick)
				in := NewIn(256<<10, kick)
				var got bytes.Buffer
				ran := make(chan error, 2)
				go func() { ran <- in.Run(&got) }()
				go func() {
					_, err := io.CopyBuffer(struct{ io.Writer }{out}, bytes.NewReader(data), make([]byte, 1+rng.IntN(300<<10)))
					out.End()
					ran <- err
				}()
				transfer(t, rand.New(rand.NewPCG(seed, 2)), out, in, kicks, c.cuts)
				require.NoError(t, <-ran)
				require.NoError(t, <-ran)
				require.Equal(t, sha256.Sum256(data), sha256.Sum256(got.Bytes()))

				require.NoError(t, out.Ack(in.Written()))
				out.Discard()
				require.EqualValues(t, c.memory, limits.Memory.left, "the memory budget is free again")
				if c.spill {
					require.EqualValues(t, c.file, limits.Files.Budget.left, "the file budget is free again")
				}
				require.Equal(t, c.spill, spilled)
			})
		})
	}
}

func TestOutRejectsInvalidOffsets(t *testing.T) {
	out := NewOut(100, Limits{Floor: 1000, Stream: 1000}, func() {})
	_, err := out.Write(make([]byte, 500))
	require.NoError(t, err)
	p, ok, err := out.Next(make([]byte, 1000))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 100, p.N, "a piece is at most the window")
	require.Error(t, out.Ack(101))
	require.Error(t, out.Resume(101))
	require.NoError(t, out.Ack(50))
	require.Error(t, out.Resume(49), "freed bytes cannot be sent again")
	require.NoError(t, out.Ack(20), "a late acknowledgement is no error")
	require.Equal(t, 50, out.InFlight())
}

func TestPending(t *testing.T) {
	out := NewOut(4, Limits{Floor: 16, Stream: 16}, func() {})
	next := func(want int, end bool) {
		t.Helper()
		require.True(t, out.Pending())
		p, ok, err := out.Next(make([]byte, 16))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, p.N)
		require.Equal(t, end, p.End)
	}
	require.False(t, out.Pending(), "no bytes were written")
	_, err := out.Write([]byte("123456"))
	require.NoError(t, err)
	next(4, false)
	require.False(t, out.Pending(), "the window is full")
	require.NoError(t, out.Ack(4))
	next(2, false)
	require.False(t, out.Pending())
	out.End()
	next(0, true)
	require.False(t, out.Pending(), "the EOF was sent")
	require.NoError(t, out.Resume(4))
	next(2, false)
	next(0, true)
	require.NoError(t, out.Resume(4))
	out.Discard()
	require.False(t, out.Pending())
}

func TestInRejectsInvalidOffsets(t *testing.T) {
	in := NewIn(100, func() {})
	require.Error(t, in.Put(1, []byte("x")), "gap")
	require.NoError(t, in.Put(0, make([]byte, 100)))
	require.Error(t, in.Put(100, []byte("x")), "beyond the window")
	require.NoError(t, in.Put(0, make([]byte, 100)), "bytes that were already received")
	require.Error(t, in.End(99))
	require.NoError(t, in.End(100))
	require.Error(t, in.End(101))
	require.Error(t, in.Put(100, []byte("x")), "after the end")
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("no reader")
	}
	return len(p), nil
}

func TestWriterThatFailsIsDrained(t *testing.T) {
	in := NewIn(1<<20, func() {})
	require.NoError(t, in.Put(0, make([]byte, 300<<10)))
	require.Error(t, in.Run(&failing{after: 100 << 10}))
	require.NoError(t, in.Put(300<<10, make([]byte, 1<<20)), "later bytes are accepted and dropped")
	require.EqualValues(t, 300<<10+1<<20, in.Written())
}

func TestDiscardWakesTheWriter(t *testing.T) {
	out := NewOut(100, Limits{Floor: 10, Stream: 10}, func() {})
	done := make(chan error)
	go func() { _, err := out.Write(make([]byte, 100)); done <- err }()
	out.Discard()
	require.ErrorIs(t, <-done, ErrClosed)
}

package flow

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

const benchSize = 16 << 20

// BenchmarkStream sends 16 MiB from a writer to a reader, in pieces of 256 KiB.
func BenchmarkStream(b *testing.B) {
	text := make([]byte, benchSize)
	buf := make([]byte, 256<<10)
	b.SetBytes(benchSize)
	b.ReportAllocs()
	for b.Loop() {
		kicks := make(chan struct{}, 1)
		kick := func() {
			select {
			case kicks <- struct{}{}:
			default:
			}
		}
		out := NewOut(768<<10, Limits{Floor: 64 << 10, Stream: 4 << 20, Memory: NewBudget(64 << 20)}, kick)
		in := NewIn(768<<10, kick)
		wrote, ran := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := out.Write(text)
			out.End()
			wrote <- err
		}()
		go func() { ran <- in.Run(io.Discard) }()
		for !in.Finished() {
			p, ok, err := out.Next(buf)
			require.NoError(b, err)
			switch {
			case !ok:
				require.NoError(b, out.Ack(in.Written()))
				<-kicks
			case p.End:
				require.NoError(b, in.End(p.Offset))
			default:
				require.NoError(b, in.Put(p.Offset, buf[:p.N]))
			}
		}
		require.NoError(b, <-wrote)
		require.NoError(b, <-ran)
	}
}

// BenchmarkSpool stores 16 MiB without a reader and then frees them: in memory, and in files if
// memory is full.
func BenchmarkSpool(b *testing.B) {
	for _, c := range []struct {
		name   string
		memory int64
	}{{"memory", 64 << 20}, {"files", 0}} {
		b.Run(c.name, func(b *testing.B) {
			text := make([]byte, benchSize)
			buf := make([]byte, 256<<10)
			limits := Limits{Floor: 64 << 10, Stream: 32 << 20, Memory: NewBudget(c.memory), Files: &Files{Dirs: []string{b.TempDir()}, Budget: NewBudget(64 << 20)}}
			b.SetBytes(benchSize)
			b.ReportAllocs()
			for b.Loop() {
				out := NewOut(1<<20, limits, func() {})
				out.stalled = true // do not measure the time until a reader counts as stalled
				_, err := out.Write(text)
				require.NoError(b, err)
				out.End()
				for {
					p, ok, err := out.Next(buf)
					require.NoError(b, err)
					require.True(b, ok)
					if p.End {
						break
					}
					require.NoError(b, out.Ack(p.Offset+uint64(p.N)))
				}
			}
		})
	}
}

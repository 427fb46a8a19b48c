//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/lab/measure"
)

func TestParseLine(t *testing.T) {
	l, ok := parseLine([]byte("  3: begun 1500000000\n"))
	require.True(t, ok)
	require.Equal(t, line{rank: 3, kind: "begun", said: time.Unix(1, 5e8)}, l)
	l, ok = parseLine([]byte("999: line 17 1500000000\n"))
	require.True(t, ok)
	require.Equal(t, line{rank: 999, kind: "line", seq: 17, said: time.Unix(1, 5e8)}, l)
	for _, text := range []string{"\n", "begun 5\n", "3: begun\n", "3: begun x\n", "x: begun 5\n", "3: line x 5\n"} {
		_, ok := parseLine([]byte(text))
		require.False(t, ok, text)
	}
}

func TestTimes(t *testing.T) {
	at := time.Unix(100, 0)
	say := func(rank, seq int, late time.Duration) line {
		return line{rank: rank, kind: "line", seq: seq, said: at, came: at.Add(late)}
	}
	x := newTimes(2, 2)
	for _, l := range []line{{kind: "begun"}, say(0, 0, time.Second), say(1, 0, 2*time.Second), say(0, 1, 4*time.Second), say(1, 1, 3*time.Second)} {
		x.take(l)
	}
	require.Zero(t, x.lost())
	require.Equal(t, []float64{3, 4}, []float64{x.part(0.5), x.part(1)})
	require.Equal(t, 2*time.Second, x.last.Sub(x.first))

	x = newTimes(2, 2)
	for _, l := range []line{say(0, 0, 0), say(0, 0, 0), say(1, 1, 0), say(2, 0, 0)} {
		x.take(l)
	}
	require.Equal(t, 3+3, x.lost(), "three unexpected lines and three missing ones")
}

func TestTable(t *testing.T) {
	all := []run{{Size: 10, Launched: 1}, {Size: 100, Launched: 5}, {Size: 10, Launched: 2}}
	made := table(report.Table{Name: "x"}, all, func(r run) (string, int) { return "Muster", r.Size }, []column[run]{
		{"size", "workers", func(r run) float64 { return float64(r.Size) }, false},
		{"launched", "s", func(r run) float64 { return r.Launched }, true},
	})
	require.Equal(t, []int{1}, made.Drawn)
	require.Equal(t, []report.Row{{Name: "Muster", Size: 10, Cells: [][]float64{{10, 10}, {1, 2}}}, {Name: "Muster", Size: 100, Cells: [][]float64{{100}, {5}}}}, made.Rows)
	require.Equal(t, []float64{1, 2}, samples(all, 10, func(r run) float64 { return r.Launched }))
}

func TestMachineCPU(t *testing.T) {
	busy, err := measure.MachineCPU()
	require.NoError(t, err)
	require.Positive(t, busy)
}

// dialed is a link.Dialer that connects to a player.
type dialed struct{ all *players }

func (d dialed) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	go func() {
		_ = d.all.join("w-0", far, far) // an error ends the link, which the test notices
		far.Close()
	}()
	return near, nil
}

// TestPlayer checks that a launcher accepts a player as a worker.
func TestPlayer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := newPlayers(1)
	go all.print(ctx, 20, 1000)
	l := link.New(link.Config{Worker: "w-0", Dialer: dialed{all}})
	ran := make(chan struct{})
	go func() { _ = l.Run(ctx); close(ran) }()
	var out bytes.Buffer
	s, err := l.Open(ctx, "", wire.Spec{Line: "x"}, link.Streams{Stdout: &out})
	require.NoError(t, err)
	result, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Zero(t, result.Code)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 21)
	require.Regexp(t, `^begun \d+$`, lines[0])
	require.Regexp(t, `^line 19 \d+$`, lines[20])
	require.NoError(t, l.End(ctx, false, time.Second))
	require.Equal(t, farmReport{Ended: 1, Codes: map[int]int{0: 1}}, all.finish(1))
	cancel()
	<-ran
}

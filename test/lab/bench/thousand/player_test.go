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
)

// dialed is a link.Dialer that leads to a player.
type dialed struct{ all *players }

func (d dialed) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	go func() {
		_ = d.all.join("w-0", far, far) // the link's end says it all
		far.Close()
	}()
	return near, nil
}

// A launcher takes a player for a worker.
func TestPlayer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := newPlayers(1)
	go all.print(ctx, 20, 1000)
	l := link.New(link.Config{Worker: "w-0", Dialer: dialed{all}})
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()
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

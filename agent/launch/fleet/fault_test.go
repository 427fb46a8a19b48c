package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
)

// pipeDialer returns one end of each pipe and keeps the other end.
type pipeDialer struct{ far []net.Conn }

func (d *pipeDialer) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	d.far = append(d.far, far)
	return near, nil
}

func TestFaultyDropsEverySoManyBytes(t *testing.T) {
	const every = 4096
	inner := &pipeDialer{}
	f := newFaulty(inner, 0, []config.Fault{{Verb: "drop", Worker: -1, Every: every}})
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1024)
	for i := range 20 {
		conn, err := f.Dial(t.Context())
		require.NoError(t, err)
		go func() { _, _ = inner.far[i].Write(sent) }()
		got, err := io.ReadAll(conn)
		require.ErrorIs(t, err, errFault)
		require.True(t, bytes.HasPrefix(sent, got))
		require.GreaterOrEqual(t, len(got), every/2)
		require.Less(t, len(got), every/2+every)
		_, err = conn.Write([]byte("x"))
		require.Error(t, err)
		_, err = inner.far[i].Write([]byte("x"))
		require.Error(t, err, "the other side is closed too")
	}
	require.Empty(t, f.conns)
}

func TestFaultySparesOtherWorkers(t *testing.T) {
	f := newFaulty(&pipeDialer{}, 1, []config.Fault{{Verb: "drop", Worker: 0, Every: 1}})
	require.Zero(t, f.every)
}

func TestFaultyDropNow(t *testing.T) {
	inner := &pipeDialer{}
	f := newFaulty(inner, 0, nil)
	conn, err := f.Dial(t.Context())
	require.NoError(t, err)
	f.drop()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = f.Dial(t.Context())
	require.NoError(t, err, "the worker can be dialed again")
	f.drop()
}

func TestFaultyStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &pipeDialer{}
		f := newFaulty(inner, 0, nil)
		conn, err := f.Dial(t.Context())
		require.NoError(t, err)
		go f.stall(t.Context(), 10*time.Second)
		synctest.Wait()
		start := time.Now()
		go func() { _, _ = inner.far[0].Write([]byte("x")) }()
		n, err := conn.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 10*time.Second, time.Since(start))

		go f.stall(t.Context(), time.Hour)
		synctest.Wait()
		done := make(chan error)
		go func() { _, err := conn.Write([]byte("x")); done <- err }()
		synctest.Wait()
		conn.Close()
		require.True(t, errors.Is(<-done, errFault), "closing the connection ends a stalled write")
	})
}

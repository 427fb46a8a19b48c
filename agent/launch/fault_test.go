package launch

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

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/names"
)

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]Fault{
		"drop every=256KiB":               {Verb: "drop", Worker: -1, Every: 256 << 10},
		"drop every=4KiB":                 {Verb: "drop", Worker: -1, Every: 4 << 10},
		"drop every=1MB worker=1":         {Verb: "drop", Worker: 1, Every: 1e6},
		"drop after=3s":                   {Verb: "drop", Worker: -1, After: 3 * time.Second},
		"kill worker=2 after=3s":          {Verb: "kill", Worker: 2, After: 3 * time.Second},
		"stall worker=1 after=2s for=10s": {Verb: "stall", Worker: 1, After: 2 * time.Second, For: 10 * time.Second},
	} {
		got, err := ParseFaults([]string{text}, 4)
		require.NoError(t, err, text)
		require.Equal(t, []Fault{want}, got, text)
	}
	for _, text := range []string{
		"", "drop", "drop every=2KiB", "drop every=0", "drop every=256XB", "drop every=-1", "drop every=1KiB after=1s", "drop 256KiB",
		"kill after=3s", "kill worker=-1 after=3s", "kill worker=9 after=1s", "stall after=2s", "stall for=2s",
		"explode after=1s", "drop after=3", "drop after=-3s", "drop after=3s color=red", "drop every=999999999999G",
	} {
		_, err := ParseFaults([]string{text}, 4)
		require.Error(t, err, text)
		require.Equal(t, names.ExitUsage, failure.CodeOf(err), text)
	}
}

func FuzzParseFault(f *testing.F) {
	f.Add("drop every=256KiB worker=1")
	f.Add("stall worker=1 after=2s for=10s")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := parseFault(text)
		if err == nil && (fault.Every < 0 || fault.After < 0 || fault.For < 0 || fault.Worker < -1) {
			t.Fatalf("%q: %+v", text, fault)
		}
	})
}

// pipeDialer hands out one end of pipes and keeps the other.
type pipeDialer struct{ far []net.Conn }

func (d *pipeDialer) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	d.far = append(d.far, far)
	return near, nil
}

func TestFaultyDropsEverySoManyBytes(t *testing.T) {
	const every = 4096
	inner := &pipeDialer{}
	f := newFaulty(inner, 0, []Fault{{Verb: "drop", Worker: -1, Every: every}})
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1024)
	for i := range 20 {
		conn, err := f.Dial(t.Context())
		require.NoError(t, err)
		go inner.far[i].Write(sent)
		got, err := io.ReadAll(conn)
		require.ErrorIs(t, err, errFault)
		require.True(t, bytes.HasPrefix(sent, got))
		require.GreaterOrEqual(t, len(got), every/2)
		require.Less(t, len(got), every/2+every)
		_, err = conn.Write([]byte("x"))
		require.Error(t, err)
		_, err = inner.far[i].Write([]byte("x"))
		require.Error(t, err, "the other side sees the end too")
	}
	require.Empty(t, f.conns)
}

func TestFaultySparesOtherWorkers(t *testing.T) {
	f := newFaulty(&pipeDialer{}, 1, []Fault{{Verb: "drop", Worker: 0, Every: 1}})
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
	require.NoError(t, err, "the line itself is there")
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
		go inner.far[0].Write([]byte("x"))
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
		require.True(t, errors.Is(<-done, errFault), "closing frees a stalled write")
	})
}

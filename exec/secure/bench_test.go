//go:build linux

package secure

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// processor reports the processor time of an operation. Wall time means little on a busy machine.
func processor(b *testing.B) {
	b.Helper()
	used := func() int64 {
		var r unix.Rusage
		require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &r))
		return r.Utime.Nano() + r.Stime.Nano()
	}
	before := used()
	b.Cleanup(func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") })
}

// BenchmarkHandshake measures both sides together.
func BenchmarkHandshake(b *testing.B) {
	e := newEnds(b)
	b.ReportAllocs()
	processor(b)
	for b.Loop() {
		near, far := net.Pipe()
		done := make(chan error, 1)
		go func() { _, _, err := e.guard.Admit(far); done <- err }()
		_, _, err := e.launcher.Prove(near, "w-1", "uid-1")
		require.NoError(b, err)
		require.NoError(b, <-done)
	}
}

// BenchmarkClaim measures what a launcher does before the worker answers.
func BenchmarkClaim(b *testing.B) {
	e := newEnds(b)
	processor(b)
	for b.Loop() {
		_, _, _ = e.launcher.Prove(&scripted{}, "w-1", "uid-1")
	}
}

// BenchmarkReplay measures the most that a stranger can make a worker do: the whole handshake until
// the confirmation. BenchmarkStranger measures it for one without the job's secret.
func BenchmarkReplay(b *testing.B) {
	e := newEnds(b)
	s := &scripted{}
	_, _, _ = e.launcher.Prove(s, "w-1", "uid-1")
	processor(b)
	for b.Loop() {
		_, _, err := e.guard.Admit(&scripted{reads: s.wrote})
		require.Error(b, err)
	}
}

func BenchmarkStranger(b *testing.B) {
	e := newEnds(b)
	s := &scripted{}
	_, _, _ = launcherOf(b, NewLauncherKey(), "pi").Prove(s, "w-1", "uid-1")
	processor(b)
	for b.Loop() {
		_, _, err := e.guard.Admit(&scripted{reads: s.wrote})
		require.ErrorIs(b, err, ErrStranger)
	}
}

// BenchmarkRecords measures the bytes of one direction, sealed and opened by one goroutine each.
func BenchmarkRecords(b *testing.B) {
	near, far := net.Pipe()
	launcher, worker := pair(b, near, far)
	p := bytes.Repeat([]byte{1}, 256<<10)
	b.SetBytes(int64(len(p)))
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(io.Discard, worker) }()
	for b.Loop() {
		_, err := launcher.Write(p)
		require.NoError(b, err)
	}
	require.NoError(b, near.SetDeadline(time.Now()))
	near.Close()
	<-done
}

// BenchmarkMemory reports the bytes that an open, idle connection holds at both ends.
func BenchmarkMemory(b *testing.B) {
	const most = 500
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		var held []*Conn
		before := heap()
		for range most {
			near, far := net.Pipe()
			launcher, worker := pair(b, near, far)
			launcher.Conn, worker.Conn = nil, nil
			held = append(held, launcher, worker)
		}
		b.ReportMetric((heap()-before)/float64(len(held)), "B/end")
		runtime.KeepAlive(held)
	}
}

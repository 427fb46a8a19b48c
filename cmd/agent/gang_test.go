//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/contract"
)

const (
	token    = "0123456789abcdef-of-a-test"
	patience = 60 * time.Second
)

// gang is a job of real `agent join` processes on loopback.
type gang struct {
	t       *testing.T
	size    int
	address string   // address of rank 0
	dir     string   // directory that the commands share, $SHARED
	flags   []string // flags of every member
	script  string   // script that sh runs in each member
	program string   // run instead; "": sh
}

// pod is one member of a gang.
type pod struct {
	t     *testing.T
	rank  int
	cmd   *exec.Cmd
	out   *contract.Text
	ended chan struct{}
}

func newGang(t *testing.T, size int, script string, flags ...string) *gang {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gang{t: t, size: size, address: l.Addr().String(), dir: t.TempDir(), script: script, flags: flags}
	require.NoError(t, l.Close())
	return g
}

// start starts the member with the given rank. more holds flags or NAME=VALUE for this member only.
func (g *gang) start(rank int, more ...string) *pod {
	g.t.Helper()
	dir, err := os.MkdirTemp("", "m")
	require.NoError(g.t, err)
	args := []string{"join", "--coordinator=" + g.address, "--workers=" + strconv.Itoa(g.size), "--rank=" + strconv.Itoa(rank)}
	env := []string{"PATH=/usr/bin:/bin", "HOME=/", "MUSTER_DIR=" + dir, "MUSTER_TOKEN=" + token, "SHARED=" + g.dir,
		"MUSTER_POD_NAME=job-" + strconv.Itoa(rank), "MUSTER_TERMINATION_LOG=" + filepath.Join(dir, "log")}
	args = append(args, g.flags...)
	for _, word := range more {
		if strings.HasPrefix(word, "-") {
			args = append(args, word)
		} else {
			env = append(env, word)
		}
	}
	p := &pod{t: g.t, rank: rank, out: &contract.Text{}, ended: make(chan struct{})}
	command := []string{"--", "sh", "-c", g.script}
	if g.program != "" {
		command = []string{"--", g.program}
	}
	p.cmd = exec.Command(bin, append(args, command...)...)
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(g.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // the exit code is in cmd.ProcessState
		close(p.ended)
	}()
	g.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if g.t.Failed() {
			g.t.Logf("rank %d said:\n%s", rank, p.out)
		}
		_ = os.RemoveAll(dir)
	})
	return p
}

func (g *gang) startAll() []*pod {
	var all []*pod
	for rank := range g.size {
		all = append(all, g.start(rank))
	}
	return all
}

// code waits until the member ends and returns its exit code.
func (p *pod) code() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.FailNow(p.t, "it does not end", "rank %d: %s", p.rank, p.out)
	}
	if ws := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// says waits until the member's output contains words.
func (p *pod) says(words string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.out.String(), words) }, patience, 5*time.Millisecond, "rank %d: %q in\n%s", p.rank, words, p.out)
}

func (p *pod) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// all requires that every member exits with a code.
func all(t *testing.T, pods []*pod, code int) {
	t.Helper()
	for _, p := range pods {
		require.Equal(t, code, p.code(), "rank %d:\n%s", p.rank, p.out)
	}
}

// file returns the content of a file that the commands wrote, or "".
func (g *gang) file(name string) string {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (g *gang) files(pattern string) []string {
	list, err := filepath.Glob(filepath.Join(g.dir, pattern))
	require.NoError(g.t, err)
	return list
}

// knocked waits until members have tried n times to connect to rank 0's address, while no rank 0
// runs.
func (g *gang) knocked(n int) {
	g.t.Helper()
	l, err := net.Listen("tcp", g.address)
	require.NoError(g.t, err)
	defer l.Close()
	require.NoError(g.t, l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	for range n {
		c, err := l.Accept()
		require.NoError(g.t, err)
		defer c.Close()
	}
}

// startVia starts the member with the given rank and its own road to rank 0.
func (g *gang) startVia(rank int) (*pod, *road) {
	g.t.Helper()
	direct := g.address
	r := newRoad(g.t, direct)
	g.address = r.l.Addr().String()
	p := g.start(rank)
	g.address = direct
	return p, r
}

// road is a proxy to rank 0 that can be cut repeatedly. It counts the bytes that its member has
// received since the cut. The proof of the token takes fewer bytes than seated, and a seat brings
// more.
type road struct {
	l    net.Listener
	to   string
	told atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

const seated = 200

func newRoad(t *testing.T, to string) *road {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &road{l: l, to: to}
	var running sync.WaitGroup
	running.Go(func() { r.serve(&running) })
	t.Cleanup(func() {
		l.Close()
		r.cut()
		running.Wait()
	})
	return r
}

func (r *road) serve(running *sync.WaitGroup) {
	for {
		from, err := r.l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", r.to)
		if err != nil {
			from.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, from, to)
		r.mu.Unlock()
		running.Go(func() { pass(from.(*net.TCPConn), to.(*net.TCPConn), nil) })
		running.Go(func() { pass(to.(*net.TCPConn), from.(*net.TCPConn), &r.told) })
	}
}

// cut breaks the existing connections. New connections pass.
func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
	r.told.Store(0)
}

// pass copies one direction of a connection and passes its end on. Closing both directions at once
// would lose bytes in transit.
func pass(from, to *net.TCPConn, told *atomic.Int64) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if told != nil {
			told.Add(int64(n))
		}
		if _, err := to.Write(buf[:n]); err != nil {
			_ = from.CloseRead() // the receiver has closed the connection
			return
		}
		if err != nil {
			_ = to.CloseWrite() // the connection may already be closed
			return
		}
	}
}

// seats waits until a member has its seat over this road.
func (r *road) seats(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return r.told.Load() > seated }, patience, time.Millisecond)
}

func lines(text string) int { return strings.Count(text, "\n") }

func same(format string, words ...any) string { return fmt.Sprintf(format, words...) }

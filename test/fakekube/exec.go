package fakekube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	utilexec "k8s.io/utils/exec"
)

// ExecPath is the pattern for registering an Exec.
const ExecPath = "/api/v1/namespaces/{ns}/pods/{name}/exec"

// Command runs the process that an exec starts. Its exit code ends the stream, or its error if the process could
// not start. As in a real container, the process is not stopped when the client disconnects: its stdin ends. ctx
// ends with the test.
type Command func(ctx context.Context, pod, container string, argv []string, stdin io.Reader, stdout, stderr io.Writer) (exit int, err error)

// Exec serves pods/exec with the code that API servers and container runtimes use: wsstream with v5.channel.k8s.io
// for WebSocket, and cri-streaming for SPDY.
type Exec struct {
	run    Command
	ctx    context.Context
	cancel context.CancelFunc
	served sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	dials   map[string]int
	refused map[string]refusal
	flowing chan struct{} // closed while bytes flow
	forged  chan struct{} // closed by Forge
}

type refusal struct {
	code int
	body string
}

// WebSocket and SPDY are the names of the protocols, for Refuse and Dials.
const (
	WebSocket = "websocket"
	SPDY      = "spdy"
)

// NewExec returns an exec handler. At the end of the test it cuts open streams and waits for the commands.
func NewExec(tb testing.TB, run Command) *Exec {
	ctx, cancel := context.WithCancel(context.Background())
	flowing := make(chan struct{})
	close(flowing)
	e := &Exec{
		run: run, ctx: ctx, cancel: cancel, conns: map[net.Conn]struct{}{}, dials: map[string]int{},
		refused: map[string]refusal{}, flowing: flowing, forged: make(chan struct{}),
	}
	tb.Cleanup(func() {
		e.mu.Lock()
		cancel()
		e.mu.Unlock()
		e.Cut(true)
		e.served.Wait()
	})
	return e
}

// ServeHTTP answers GET (WebSocket) and POST (SPDY) as an API server does.
func (e *Exec) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protocol := SPDY
	if wsstream.IsWebSocketRequest(r) {
		protocol = WebSocket
	}
	e.mu.Lock()
	e.dials[protocol]++
	no, refused := e.refused[protocol]
	if e.ctx.Err() != nil {
		no, refused = refusal{http.StatusServiceUnavailable, "the test is over"}, true
	}
	if !refused {
		e.served.Add(1)
	}
	e.mu.Unlock()
	if refused {
		http.Error(w, no.body, no.code)
		return
	}
	defer e.served.Done()
	if protocol == WebSocket {
		e.serveWebSocket(&hijacked{w, e, nil}, r)
		return
	}
	answered := make(chan struct{})
	ServeSPDY(&hijacked{w, e, answered}, r, func(in io.Reader, out, errs io.Writer) (int, error) {
		close(answered)
		return e.command(r, in, out, errs)
	})
}

// serveWebSocket does what the API server's stream translator does on the client's side.
func (e *Exec) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	channels := []wsstream.ChannelType{
		wsstream.ReadChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.ReadChannel,
	}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		cri.StreamProtocolV5Name: {Binary: true, Channels: channels},
	})
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	said := metav1.Status{Status: metav1.StatusSuccess}
	exit, err := e.command(r, streams[cri.StreamStdIn], streams[cri.StreamStdOut], streams[cri.StreamStdErr])
	switch {
	case err != nil:
		said = *status(http.StatusInternalServerError,
			fmt.Sprintf("Internal error occurred: error executing command in container: %v", err))
	case exit != 0:
		said = metav1.Status{
			Status: metav1.StatusFailure, Reason: cri.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: exit status %d", exit),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: cri.ExitCodeCauseType, Message: fmt.Sprint(exit)},
			}},
		}
	}
	body, _ := json.Marshal(said)
	_, _ = streams[cri.StreamErr].Write(body)
}

// Run runs the process of one exec. Its exit code ends the stream, or its error if the process could not start.
type Run func(stdin io.Reader, stdout, stderr io.Writer) (exit int, err error)

// ServeSPDY answers an exec with the code that container runtimes use.
func ServeSPDY(w http.ResponseWriter, r *http.Request, run Run) {
	all := &cri.Options{Stdin: true, Stdout: true, Stderr: true}
	cri.ServeExec(w, r, run, "", "", "", nil, all, 4*time.Hour, cri.DefaultStreamCreationTimeout, cri.SupportedStreamingProtocols)
}

// ExecInContainer implements cri.Executor.
func (run Run) ExecInContainer(_ context.Context, _, _, _ string, _ []string, in io.Reader, out, errs io.WriteCloser,
	_ bool, _ <-chan cri.TerminalSize, _ time.Duration) error {
	exit, err := run(in, out, errs)
	if err == nil && exit != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", exit), Code: exit}
	}
	return err
}

// command runs the hook. It returns early, with success, when Forge is called.
func (e *Exec) command(r *http.Request, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	type outcome struct {
		exit int
		err  error
	}
	done := make(chan outcome, 1)
	e.mu.Lock()
	forged := e.forged
	e.mu.Unlock()
	e.served.Go(func() {
		exit, err := e.run(e.ctx, r.PathValue("name"), r.FormValue("container"), r.URL.Query()["command"],
			valveReader{e, stdin}, valveWriter{e, stdout}, valveWriter{e, stderr})
		done <- outcome{exit, err}
	})
	select {
	case o := <-done:
		return o.exit, o.err
	case <-forged:
		return 0, nil
	}
}

// Refuse answers upgrades to protocol (WebSocket or SPDY) with a plain text body, as a server or proxy without that
// protocol does. Code 0 accepts upgrades again.
//
// Tests that cut dials refuse SPDY, and so do tests whose launchers cut them. The SPDY server waits 30 s for streams
// that never come.
func (e *Exec) Refuse(protocol string, code int, body string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if code == 0 {
		delete(e.refused, protocol)
		return
	}
	e.refused[protocol] = refusal{code, body}
}

// Dials returns how many upgrades were requested, by protocol.
func (e *Exec) Dials() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.dials)
}

// Open returns how many streams are open.
func (e *Exec) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conns)
}

// Cut ends the TCP connection of every open stream, with a reset or a FIN, and returns the number of streams.
func (e *Exec) Cut(reset bool) int {
	e.mu.Lock()
	conns := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		conns = append(conns, c)
	}
	e.mu.Unlock()
	for _, c := range conns {
		if t, ok := rawTCP(c); ok && reset {
			_ = t.SetLinger(0)
		}
		_ = c.Close()
	}
	return len(conns)
}

func rawTCP(c net.Conn) (*net.TCPConn, bool) {
	for {
		switch inner := c.(type) {
		case *hijackedConn:
			c = inner.Conn
		case *trackedConn:
			c = inner.Conn
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			t, ok := c.(*net.TCPConn)
			return t, ok
		}
	}
}

// Stall stops (true) or continues (false) the flow of bytes in both directions of every stream. The connections
// stay open.
func (e *Exec) Stall(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.flowing:
		if on {
			e.flowing = make(chan struct{})
		}
	default:
		if !on {
			close(e.flowing)
		}
	}
}

// Forge ends every open stream with a status of success, as an API server does that has lost the kubelet. Commands
// keep running.
func (e *Exec) Forge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.forged)
	e.forged = make(chan struct{})
}

// await returns when bytes may flow or the test has ended.
func (e *Exec) await() {
	e.mu.Lock()
	flowing := e.flowing
	e.mu.Unlock()
	select {
	case <-flowing:
	case <-e.ctx.Done():
	}
}

type valveReader struct {
	e *Exec
	r io.Reader
}

func (v valveReader) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.e.await()
	return n, err
}

type valveWriter struct {
	e *Exec
	w io.Writer
}

func (v valveWriter) Write(p []byte) (int, error) {
	v.e.await()
	return v.w.Write(p)
}

// hijacked records the connection that a protocol switch takes over.
type hijacked struct {
	http.ResponseWriter
	e        *Exec
	answered chan struct{} // see hijackedConn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := &hijackedConn{Conn: conn, e: h.e, answered: h.answered}
	h.e.mu.Lock()
	h.e.conns[c] = struct{}{}
	h.e.mu.Unlock()
	arrived, _ := buf.Peek(buf.Reader.Buffered())
	return c, bufio.NewReadWriter(bufio.NewReader(io.MultiReader(bytes.NewReader(arrived), c)), bufio.NewWriter(c)), nil
}

// hijackedConn hides its end from spdystream until all streams are answered. A stream that spdystream cannot answer
// blocks its writer forever.
type hijackedConn struct {
	net.Conn
	e        *Exec
	answered chan struct{} // closed when the command starts; nil for WebSockets
}

// Read delays an error until the streams are answered. The limit is for a client that has opened too few.
func (c *hijackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.answered != nil {
		select {
		case <-c.answered:
		case <-time.After(5 * time.Second):
		}
	}
	return n, err
}

// Write returns no error. Read reports the end of the connection.
func (c *hijackedConn) Write(p []byte) (int, error) {
	_, _ = c.Conn.Write(p)
	return len(p), nil
}

// Close returns no error: if a second Close returned one, spdystream would keep a goroutine for a second.
func (c *hijackedConn) Close() error {
	c.e.mu.Lock()
	delete(c.e.conns, c)
	c.e.mu.Unlock()
	_ = c.Conn.Close()
	return nil
}

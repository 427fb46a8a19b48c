package fakekube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server is the fake API server. Its methods are safe for concurrent use.
type Server struct {
	tb   testing.TB
	mux  *http.ServeMux
	addr string

	mu       sync.Mutex
	http     *http.Server // nil while stopped
	served   chan struct{}
	conns    map[net.Conn]struct{}
	faults   []*Failure
	requests []Request

	pods      map[string]*corev1.Pod // namespace/name
	events    []event
	rv        uint64 // of the newest event
	compacted uint64 // watches from an older version get a 410
	changed   chan struct{}
	cut       chan struct{} // closed by Drop: ends the watch handlers
	bookmark  uint64        // resource version of the newest bookmark
}

// Failure answers matching requests with an error status instead of the real answer.
type Failure struct {
	Match      func(*http.Request) bool // nil: every request
	Code       int
	Message    string        // of the v1.Status; empty: the text of Code
	Text       string        // instead of a v1.Status, as for a kind that is not served
	Count      int           // how many requests; 0: no limit
	Until      time.Time     // zero: no end
	RetryAfter string        // value of the Retry-After header, if any
	Hang       time.Duration // wait this long before the answer
}

// Request is a request that arrived. Requests that failed are included.
type Request struct {
	Method, Path, Query string
	At                  time.Time
}

// Watch reports whether the request opened a watch.
func (r Request) Watch() bool { return strings.Contains(r.Query, "watch=true") }

// New starts a server on a free loopback port; it is closed when the test ends.
func New(tb testing.TB) *Server {
	s := &Server{
		tb: tb, mux: http.NewServeMux(), addr: "127.0.0.1:0",
		conns: map[net.Conn]struct{}{}, pods: map[string]*corev1.Pod{},
		changed: make(chan struct{}), cut: make(chan struct{}),
		rv: 100, compacted: 0,
	}
	s.mux.HandleFunc("GET /api/v1/pods", s.listOrWatch)
	s.mux.HandleFunc("GET /api/v1/namespaces/{ns}/pods", s.listOrWatch)
	s.mux.HandleFunc("GET /api/v1/namespaces/{ns}/pods/{name}", s.get)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteStatus(w, http.StatusNotFound, "the server could not find the requested resource")
	})
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// URL returns the address, for rest.Config.Host. It does not change with Stop and Start.
func (s *Server) URL() string { return "http://" + s.addr }

// WriteNotFound answers 404 for an object that does not exist, unlike the 404 for a kind that is not served.
func WriteNotFound(w http.ResponseWriter, plural, name string) {
	answer := status(http.StatusNotFound, fmt.Sprintf("%s %q not found", plural, name))
	answer.Details = &metav1.StatusDetails{Name: name, Kind: plural}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(answer)
}

// Handle registers a handler. Failures and request counts apply to it too. The pattern is that of http.ServeMux.
// Call it before the first request.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// Start listens again after Stop, on the same port and with the same pods.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return
	}
	ln, err := listen(s.addr)
	if err != nil {
		s.tb.Errorf("listen: %v", err)
		return
	}
	s.addr = ln.Addr().String()
	srv := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	s.http, s.served = srv, served
	go func() {
		defer close(served)
		if err := srv.Serve(tracked{ln, s}); !errors.Is(err, http.ErrServerClosed) {
			s.tb.Errorf("serve: %v", err)
		}
	}()
}

// listen retries for a moment: the port may be in use by a dying connection.
func listen(addr string) (net.Listener, error) {
	for try := 0; ; try++ {
		ln, err := net.Listen("tcp4", addr)
		if err == nil || try == 50 {
			return ln, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop closes the listener and every connection. The server refuses dials until Start, and pods stay. A client sees
// the same as after kill -9 of an API server.
func (s *Server) Stop() {
	s.mu.Lock()
	srv, served := s.http, s.served
	s.http = nil
	s.mu.Unlock()
	if srv == nil {
		return
	}
	_ = srv.Close()
	s.Drop()
	<-served
}

// Drop resets every open connection, including watches and exec streams, and returns their number. It does not
// refuse new connections.
func (s *Server) Drop() int {
	s.mu.Lock()
	conns := make([]net.Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	close(s.cut)
	s.cut = make(chan struct{})
	s.mu.Unlock()
	for _, c := range conns {
		if t, ok := c.(*trackedConn).Conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // RST, not FIN
		}
		_ = c.Close()
	}
	return len(conns)
}

// Fail adds a failure. If several failures match a request, the one that was added first answers it.
func (s *Server) Fail(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Count == 0 {
		f.Count = -1
	}
	s.faults = append(s.faults, &f)
}

// Heal removes every failure.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Requests returns a copy of the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if f := s.admit(r); f != nil {
		if f.Hang > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), f.Hang)
			<-ctx.Done()
			cancel()
		}
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		if f.Text != "" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(f.Code)
			_, _ = w.Write([]byte(f.Text))
			return
		}
		WriteStatus(w, f.Code, f.Message)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// admit records the request and returns the failure that answers it, if any.
func (s *Server) admit(r *http.Request) *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.URL.RawQuery, now})
	for _, f := range s.faults {
		if f.Count == 0 || !f.Until.IsZero() && now.After(f.Until) || f.Match != nil && !f.Match(r) {
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		return f
	}
	return nil
}

// WriteStatus answers with a v1.Status as an API server does.
func WriteStatus(w http.ResponseWriter, code int, message string) {
	if message == "" {
		message = http.StatusText(code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code, message))
}

func status(code int, message string) *metav1.Status {
	reasons := map[int]metav1.StatusReason{
		400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized,
		403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		410: metav1.StatusReasonExpired, 429: metav1.StatusReasonTooManyRequests,
		409: metav1.StatusReasonAlreadyExists, 422: metav1.StatusReasonInvalid,
		500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
	}
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: message,
	}
}

// tracked records connections, including hijacked ones, so that Drop can reset them.
type tracked struct {
	net.Listener
	s *Server
}

type trackedConn struct {
	net.Conn
	s *Server
}

// Accept implements net.Listener.
func (t tracked) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tc := &trackedConn{c, t.s}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.conns[tc] = struct{}{}
	return tc, nil
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}

package progress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// mostConnections bounds the connections: 10 MB of memory, and more jobs than a cluster has.
	mostConnections = 1024
	// slowest is how long a request and its answer may take.
	slowest = 10 * time.Second
	// idle is how long a connection stays open without a request.
	idle = 30 * time.Second
)

// Options configures the server.
type Options struct {
	Address   string // where it listens, as in :8443
	Service   string // name of the Service in front of it
	Namespace string // of the controller
	Owner     string // field manager of the writes
}

// server takes reports. It is a part of each replica of the controller, the leader or not.
type server struct {
	listen  string
	id      *identity
	log     logr.Logger
	clock   clock.PassiveClock
	senders *senders
	writer  *writer
}

// Add adds the server to a manager, and returns what pods need to use it. It reads or creates the
// certificate at once, because the first pod needs it.
func Add(ctx context.Context, mgr manager.Manager, o Options) (*Offer, error) {
	host := o.Service + "." + o.Namespace + ".svc"
	_, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("--progress-addr=%s: %w", o.Address, err)
	}
	id, err := identityOf(ctx, mgr.GetAPIReader(), mgr.GetClient(), o.Namespace, host, time.Now())
	if err != nil {
		return nil, err
	}
	s := newServer(mgr.GetClient(), id, o, mgr.GetLogger().WithName("progress"), clock.RealClock{})
	if err := mgr.Add(s); err != nil {
		return nil, fmt.Errorf("add the server of progress reports: %w", err)
	}
	return &Offer{address: "https://" + net.JoinHostPort(host, port), ca: string(id.ca)}, nil
}

func newServer(api client.Client, id *identity, o Options, log logr.Logger, c clock.PassiveClock) *server {
	return &server{listen: o.Address, id: id, log: log, clock: c, senders: newSenders(api),
		writer: &writer{api: api, owner: o.Owner, last: map[types.UID]time.Time{}}}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a Service sends reports to any
// replica.
func (s *server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It returns when ctx has ended and the requests are answered.
func (s *server) Start(ctx context.Context) error {
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen for progress reports: %w", err)
	}
	return s.serve(ctx, l)
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{s.id.pair}},
		ReadHeaderTimeout: slowest, ReadTimeout: slowest, WriteTimeout: slowest, IdleTimeout: idle, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // strangers could fill the log
	}
	done := make(chan error, 1)
	go func() { done <- h.ServeTLS(netutil.LimitListener(l, mostConnections), "", "") }()
	select {
	case err := <-done:
		return fmt.Errorf("serve progress reports: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowest)
	defer cancel()
	err := h.Shutdown(last)
	if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// ServeHTTP takes one report. It answers in the way of Kubeflow Trainer: 200 means that the report is
// in the job's status.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), slowest/2)
	defer cancel()
	code, why := s.take(ctx, r)
	if code != http.StatusOK {
		http.Error(w, why, code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}\n") // a sender that has left needs no answer
}

func (s *server) take(ctx context.Context, r *http.Request) (code int, why string) {
	key, ok := jobOf(r.URL.Path)
	if !ok {
		return http.StatusNotFound, "no such path: want " + path("NAMESPACE", "JOB")
	}
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "reports are sent with POST"
	}
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || bearer == "" {
		return http.StatusUnauthorized, "a bearer token is missing"
	}
	now := s.clock.Now()
	from, err := s.senders.who(ctx, bearer, now)
	if err != nil {
		return s.answer(err)
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBytes+1))
	if err != nil || len(text) > mostBytes {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("a report has at most %d bytes", mostBytes)
	}
	report, err := read(text, now)
	if err != nil {
		return http.StatusUnprocessableEntity, err.Error()
	}
	if err := s.writer.write(ctx, from, key, report); err != nil {
		return s.answer(err)
	}
	return http.StatusOK, ""
}

// answer turns an error into an answer. Errors of the API server go to the log: they are not the
// sender's.
func (s *server) answer(err error) (code int, why string) {
	switch {
	case errors.Is(err, errRefused):
		return http.StatusUnauthorized, err.Error()
	case errors.Is(err, errNotYours):
		return http.StatusForbidden, err.Error()
	case errors.Is(err, errOver):
		return http.StatusConflict, err.Error()
	case errors.Is(err, errTooSoon), errors.Is(err, errBusy):
		return http.StatusTooManyRequests, err.Error()
	case apierrors.IsForbidden(err):
		s.log.Error(err, "cannot take progress reports: a right is missing")
		return http.StatusServiceUnavailable, "the controller lacks a right"
	}
	s.log.Error(err, "cannot take a progress report")
	return http.StatusServiceUnavailable, "the API server has failed"
}

// jobOf returns the job that a path names.
func jobOf(p string) (client.ObjectKey, bool) {
	parts := strings.Split(p, "/")
	if len(parts) != 9 {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: parts[5], Name: parts[7]}, p == path(parts[5], parts[7])
}

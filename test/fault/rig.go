package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/fault/server"
)

// The legs of exec, in order from the launcher to PID 1, and those of the pod network.
const (
	clientLeg = iota // launcher to API server
	kubeletLeg
	bridgeLeg  // bridge to PID 1
	networkLeg // launcher to worker
	trunkLeg   // launcher to the worker that is a relay
	laneLeg    // relay to worker
	legCount
)

var legNames = [legCount]string{"launcher-API server", "API server-kubelet", "bridge-PID 1", "launcher-worker", "launcher-relay", "relay-worker"}

// byNetwork reports whether a leg belongs to the pod network.
func byNetwork(leg int) bool { return leg >= networkLeg }

// The transports of the client. A network transport has legs of its own.
const (
	webSocket  = "WebSocket"
	spdy       = "SPDY"
	podNetwork = "network"
)

// transportsOf returns the transports that use a leg.
func transportsOf(leg int) []string {
	if byNetwork(leg) {
		return []string{podNetwork}
	}
	return []string{webSocket, spdy}
}

// yard holds what all rigs share.
type yard struct {
	dir     string
	agent   string // binary
	child   string // binary
	cluster *server.Cluster
	procs   *procs
}

// rig is one route from a launcher to its own PID 1, with a leg at each step.
type rig struct {
	yard      *yard
	name, dir string
	transport string
	legs      [legCount]*leg.Leg
	up, down  *leg.Tap // frames that PID 1 sends, and frames that the launcher sends
	pod       *server.Pod
	cfg       *rest.Config
	client    rest.Interface
	gate      *link.Gate
	proto     *remote.Protocol
	shared    bool // proto is that of a launcher with more links
	held      *line
	worker    worker
	lan       *lan // nil: by exec
}

// worker is a PID 1 that listens at a socket.
type worker interface {
	// close ends the worker. It returns an error if the worker ended for another reason.
	close() error
}

// newRig builds a rig. If real is set, its PID 1 and its bridges are processes.
func (y *yard) newRig(name, transport string, real bool) (r *rig, err error) {
	r = &rig{yard: y, name: name, dir: filepath.Join(y.dir, name), transport: transport,
		up: &leg.Tap{}, down: &leg.Tap{}, gate: link.NewGate(), proto: &remote.Protocol{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("build rig %s: %w", name, err), r.close())
		}
	}()
	inner, outer := filepath.Join(r.dir, "w"), filepath.Join(r.dir, "a")
	for _, d := range []string{inner, outer} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return r, err
		}
	}
	socket := filepath.Join(inner, names.WorkerSocket)
	start := y.inProcess
	if real {
		start = y.process
	}
	if transport == podNetwork {
		r.gate = nil
		return r, r.overNetwork(start, socket)
	}
	if r.worker, err = start(r.dir, socket, nil); err != nil {
		return r, err
	}
	bridgeAt := filepath.Join(outer, names.WorkerSocket)
	if r.legs[bridgeLeg], err = leg.Listen("unix", bridgeAt, "unix", socket, r.up); err != nil {
		return r, err
	}
	if r.legs[kubeletLeg], err = leg.Listen("tcp4", "127.0.0.1:0", "tcp4", y.cluster.Addr(server.Kubelet), nil); err != nil {
		return r, err
	}
	if r.legs[clientLeg], err = leg.Listen("tcp4", "127.0.0.1:0", "tcp4", y.cluster.Addr(server.APIServer), nil); err != nil {
		return r, err
	}
	r.pod = &server.Pod{Name: name, Kubelet: r.legs[kubeletLeg].Addr(), NoWebSocket: transport == spdy, NoSPDY: transport == webSocket, Bridge: bridge(bridgeAt)}
	if real {
		r.pod.Bridge = y.attach(outer)
	}
	y.cluster.Add(r.pod)
	r.cfg = &rest.Config{Host: "http://" + r.legs[clientLeg].Addr(), QPS: -1}
	r.client, err = rendezvous.Client(r.cfg)
	return r, err
}

func (r *rig) close() error {
	var err error
	if r.worker != nil {
		err = r.worker.close()
	}
	for _, l := range r.legs {
		if l != nil {
			l.Close()
		}
	}
	if r.lan != nil {
		err = errors.Join(err, r.lan.close())
	}
	return err
}

// dialer returns the product's dialer with the launcher's tap around it. The dialer remembers that a server does
// not support SPDY. If the server does, it is reset for each run, so that a wrong conclusion lasts no longer than a run.
func (r *rig) dialer() link.Dialer {
	if r.lan != nil {
		return leg.Dialer{Dialer: r.lan.dialer(r), Tap: r.down}
	}
	if r.transport != webSocket && !r.shared {
		r.proto = &remote.Protocol{}
	}
	target := remote.Target{Namespace: "fault", Pod: r.name, UID: "u", Container: "main", Agent: "/agent"}
	return leg.Dialer{Dialer: remote.New(r.cfg, r.client, target, r.proto), Tap: r.down}
}

// line is a running link.
type line struct {
	*link.Link
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done is closed
}

// quick sets the timers of the matrix: short, but long enough that a busy machine does not look silent.
func quick(c *link.Config) {
	c.PingEvery, c.DeadAfter, c.DialTimeout = 400*time.Millisecond, 1600*time.Millisecond, 4*time.Second
}

// link starts a link over the rig.
func (r *rig) link(change func(*link.Config)) *line {
	cfg := link.Config{Worker: r.name, Dialer: r.dialer(), Gate: r.gate}
	if change != nil {
		change(&cfg)
	}
	return startLink(cfg)
}

func startLink(cfg link.Config) *line {
	cfg.Hello = wire.HelloRecord{Version: "fault", Epoch: wire.Epoch{Created: 1, UID: "launcher"}}
	ctx, cancel := context.WithCancel(context.Background())
	l := &line{Link: link.New(cfg), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = l.Run(ctx)
	}()
	return l
}

// stop ends the link and waits for its goroutine.
func (l *line) stop() error {
	l.cancel()
	<-l.done
	return l.err
}

// proven waits until the worker answers over the link.
func (l *line) proven(ctx context.Context) error {
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		ok := l.Prove(try)
		cancel()
		if ok {
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-l.done:
			return fmt.Errorf("link ended: %w", l.err)
		case <-ctx.Done():
			return fmt.Errorf("link did not come up again: %w", l.State().Last)
		}
	}
}

// feed is a stdin whose bytes come from a channel.
type feed struct {
	in   chan []byte
	rest []byte
	once sync.Once
	done chan struct{}
}

func newFeed() *feed { return &feed{in: make(chan []byte, 1), done: make(chan struct{})} }

// Read implements io.Reader.
func (f *feed) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		select {
		case b, ok := <-f.in:
			if !ok {
				return 0, io.EOF
			}
			f.rest = b
		case <-f.done:
			return 0, io.EOF
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// echo is a session that returns its input.
type echo struct {
	in   *feed
	came chan error // the words sent so far have returned, or an error

	mu   sync.Mutex
	want []byte
}

// say sends a word. came delivers nil when the word has returned.
func (e *echo) say(word string) {
	e.mu.Lock()
	e.want = append(e.want, word...)
	e.mu.Unlock()
	e.in.in <- []byte(word)
}

// Write receives the returned words.
func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(p) > len(e.want) || string(p) != string(e.want[:len(p)]) {
		e.came <- fmt.Errorf("got %q back, want %q", p, e.want)
		return len(p), nil
	}
	if e.want = e.want[len(p):]; len(e.want) == 0 {
		e.came <- nil
	}
	return len(p), nil
}

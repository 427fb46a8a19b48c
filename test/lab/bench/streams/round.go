//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/await"
)

// limit ends a round that hangs.
const limit = 10 * time.Minute

// world is the cluster, with a worker for each stream.
type world struct {
	*measure.World
	options options
	targets []remote.Target
	nodes   []string
	client  rest.Interface
	version string // of the API server: 1.37
	git     string // v1.37.2
	noGC    bool   // a process does not collect its garbage when it is asked to, and this was said
}

// reading holds metrics of all processes at one time.
type reading struct {
	At      time.Time
	Server  measure.Server
	Kubelet measure.Server // the sum of all
	Machine float64        // seconds of CPU time
}

// sample is what one round has measured for one transport.
type sample struct {
	Transport string
	Streams   int
	Idle      [2]reading // at the begin and at the end of a while without streams
	Held      [2]reading // with streams
	Flow      [2]reading // before and after the output
	MiB       float64    // of output that arrived
	Seconds   float64    // that the output took
	Redials   int
}

// round measures one transport.
func (w *world) round(ctx context.Context, by remote.Transport) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s = sample{Transport: by.String(), Streams: len(w.targets)}
	if err := w.awaitStreams(ctx, 0); err != nil {
		return s, err
	}
	if s.Idle, err = w.span(ctx); err != nil {
		return s, err
	}
	h, err := w.hold(ctx, by)
	defer func() { err = errors.Join(err, h.close()) }()
	if err != nil {
		return s, err
	}
	if err := w.awaitStreams(ctx, len(w.targets)); err != nil {
		return s, err
	}
	if s.Held, err = w.span(ctx); err != nil {
		return s, err
	}
	if err := w.flow(ctx, h, &s); err != nil {
		return s, err
	}
	for _, l := range h.links {
		s.Redials += l.State().Redials
	}
	if s.Redials > 0 {
		return s, fmt.Errorf("%d links were cut, so that the numbers mean nothing", s.Redials)
	}
	return s, nil
}

// warm holds all streams once without a measurement: the first ones make processes allocate what they keep.
func (w *world) warm(ctx context.Context, by remote.Transport) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := w.awaitStreams(ctx, 0); err != nil {
		return err
	}
	h, err := w.hold(ctx, by)
	defer func() { err = errors.Join(err, h.close()) }()
	if err != nil {
		return err
	}
	return w.flow(ctx, h, &sample{})
}

// awaitStreams waits until the API server counts n streams.
func (w *world) awaitStreams(ctx context.Context, n int) error {
	return w.Await(ctx, time.Minute, fmt.Sprintf("%d streams", n), func() (bool, error) {
		s, err := w.Server(ctx)
		if err == nil && int(s.Streams) != n {
			return false, fmt.Errorf("the API server has %.0f streams", s.Streams)
		}
		return err == nil, err
	})
}

// span takes a reading, and another one after a while.
func (w *world) span(ctx context.Context) (both [2]reading, err error) {
	for i, wait := range []time.Duration{w.options.settle, w.options.span} {
		if err := await.Pause(ctx, wait); err != nil {
			return both, err
		}
		if both[i], err = w.read(ctx, i == 0); err != nil {
			return both, err
		}
	}
	return both, nil
}

// read reads all metrics. With collect, all processes collect their garbage first.
func (w *world) read(ctx context.Context, collect bool) (r reading, err error) {
	if collect {
		w.collect(ctx)
	}
	if r.Machine, err = measure.MachineCPU(); err != nil {
		return r, err
	}
	if r.Server, err = w.Server(ctx); err != nil {
		return r, err
	}
	for _, node := range w.nodes {
		k, err := w.Kubelet(ctx, node)
		if err != nil {
			return r, err
		}
		r.Kubelet.CPUSeconds += k.CPUSeconds
		r.Kubelet.Goroutines += k.Goroutines
		r.Kubelet.Live += k.Live
		r.Kubelet.Resident += k.Resident
		r.Kubelet.WebSockets += k.WebSockets
	}
	r.At = time.Now()
	return r, nil
}

// collect makes all processes collect their garbage. If profiling is off in one of them, its memory includes garbage.
func (w *world) collect(ctx context.Context) {
	below := []string{""}
	for _, node := range w.nodes {
		below = append(below, measure.KubeletPath(node))
	}
	for range 2 { // pooled memory survives the first collection
		for _, path := range below {
			if _, err := w.Fetch(ctx, path+"/debug/pprof/heap?gc=1"); err != nil && !w.noGC {
				w.noGC = true
				w.Say("memory includes garbage: %v", err)
			}
		}
	}
}

// held is a link to each worker.
type held struct {
	links []*link.Link
	stop  context.CancelFunc
	done  sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

// hold links to each worker by one transport, and waits until all workers have answered.
func (w *world) hold(ctx context.Context, by remote.Transport) (*held, error) {
	h := &held{}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	proto, gate := remote.Only(by), link.NewGate()
	epoch := wire.Epoch{Created: time.Now().UnixNano(), UID: "streams"} // newer than that of the last round
	for _, target := range w.targets {
		l := link.New(link.Config{Worker: target.Pod, Dialer: remote.New(w.Config, w.client, target, proto), Gate: gate,
			Hello: wire.HelloRecord{Version: "streams", Epoch: epoch}, ParkAfter: -1})
		h.links = append(h.links, l)
		h.done.Go(func() {
			if err := l.Run(running); err != nil {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.errs = append(h.errs, err)
			}
		})
	}
	return h, w.Await(ctx, 2*time.Minute, "all links", func() (bool, error) {
		for i, l := range h.links {
			if s := l.State(); !s.Connected {
				return false, fmt.Errorf("%s: %w", w.targets[i].Pod, s.Last)
			}
		}
		return true, nil
	})
}

// close ends all links.
func (h *held) close() error {
	h.stop()
	h.done.Wait()
	return errors.Join(h.errs...)
}

// flow reads the output of a program over some of the streams, one after the other.
func (w *world) flow(ctx context.Context, h *held, s *sample) (err error) {
	if s.Flow[0], err = w.read(ctx, false); err != nil {
		return err
	}
	began := time.Now()
	size := int64(w.options.mib) << 20
	for i := range w.options.flows {
		got, err := output(ctx, h.links[i*len(h.links)/w.options.flows], size)
		if err != nil {
			return fmt.Errorf("%s: %w", w.targets[i*len(h.links)/w.options.flows].Pod, err)
		}
		if got != size {
			return fmt.Errorf("%d of %d bytes arrived", got, size)
		}
		s.MiB += float64(got >> 20)
	}
	s.Seconds = time.Since(began).Seconds()
	s.Flow[1], err = w.read(ctx, false)
	return err
}

// output runs a program that writes size bytes, and returns how many arrived.
func output(ctx context.Context, l *link.Link, size int64) (int64, error) {
	var got counter
	session, err := l.Open(ctx, "", wire.Spec{Argv: []string{"head", "-c", fmt.Sprint(size), "/dev/zero"}}, link.Streams{Stdout: &got})
	if err != nil {
		return 0, err
	}
	end, err := session.Wait(ctx)
	if err == nil && end.Code != 0 {
		err = fmt.Errorf("the program ended with %d: %s", end.Code, end.Error)
	}
	return got.n.Load(), err
}

// counter counts bytes.
type counter struct{ n atomic.Int64 }

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

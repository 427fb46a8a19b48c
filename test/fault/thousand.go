package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/fault/server"
	"github.com/musterhq/muster/test/suite/figure"
)

// mostDialsASecond is the limit that a gate of exec/link sets on redials: 200 a second after a burst of 40. The
// rest allows for dials that a busy machine delays and then sends together. Without a gate, all links would redial
// at once.
const mostDialsASecond = 300

// many is a thousand links of one launcher, over one leg, to a thousand PID 1s.
type many struct {
	farm  *farm
	leg   *leg.Leg
	gate  *link.Gate
	lines []*line
	echo  []*echo

	changes atomic.Int32 // of the protocol
}

// thousand cuts all links at once and measures the time until each of them has carried bytes both ways again.
func thousand(y *yard, o options, b *book) (err error) {
	n := 1000
	if o.subset {
		n = 100
	}
	m := &many{gate: link.NewGate()}
	defer func() { err = errors.Join(err, m.close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	began := time.Now()
	if err := m.open(ctx, y, n); err != nil {
		return err
	}
	fmt.Printf("  %d links and sessions up in %s\n", n, time.Since(began).Round(100*time.Millisecond))
	m.leg.Accepted()
	var took, rates []float64
	for _, f := range []leg.Fault{leg.RST, leg.FIN} {
		slowest, err := m.cutAll(ctx, f)
		if err != nil {
			return err
		}
		took = append(took, slowest.Seconds())
		rates = append(rates, float64(busiest(m.leg.Accepted())))
	}
	return b.keep("fault-thousand", map[string]any{
		"changes": m.changes.Load(),
		"resumed": figure.Series{Unit: "s", Samples: took, Reduce: "max"},
		"dials":   figure.Series{Unit: "dials", Samples: rates, Reduce: "max"},
	},
		figure.Row{Name: fmt.Sprintf("%d links cut at once: all carry bytes again", n), Log: "resumed", Op: "<=", Bar: 10},
		figure.Row{Name: fmt.Sprintf("%d links cut at once: most dials in a second", n), Log: "dials", Op: "<=", Bar: mostDialsASecond},
		figure.Row{Name: fmt.Sprintf("%d links cut at once: changes of the protocol", n), Log: "changes", Op: "=="})
}

// open links n workers and starts a session on each.
func (m *many) open(ctx context.Context, y *yard, n int) (err error) {
	if m.farm, err = y.startFarm(n); err != nil {
		return err
	}
	if m.leg, err = leg.Listen("tcp4", "127.0.0.1:0", "tcp4", m.farm.addr, nil); err != nil {
		return err
	}
	cfg := &rest.Config{Host: "http://" + m.leg.Addr(), QPS: -1}
	client, err := rendezvous.Client(cfg)
	if err != nil {
		return err
	}
	proto := &remote.Protocol{Changed: func(remote.Transport, error) { m.changes.Add(1) }}
	for i := range n {
		target := remote.Target{Namespace: "fault", Pod: podName(i), UID: "u", Container: "main", Agent: "/agent"}
		l := startLink(link.Config{Worker: target.Pod, Dialer: remote.New(cfg, client, target, proto), Gate: m.gate})
		e := &echo{in: newFeed(), came: make(chan error, 8)}
		m.lines, m.echo = append(m.lines, l), append(m.echo, e)
		if _, err := l.Open(ctx, "", wire.Spec{Argv: []string{"/bin/cat"}}, link.Streams{Stdin: e.in, Stdout: e}); err != nil {
			return err
		}
	}
	_, err = m.exchange(ctx, "hello")
	return err
}

// cutAll ends every connection and returns how long the slowest link took to carry bytes again.
func (m *many) cutAll(ctx context.Context, f leg.Fault) (time.Duration, error) {
	before := make([]int, len(m.lines))
	for i, l := range m.lines {
		before[i] = l.State().Redials
	}
	began := time.Now()
	if n := m.leg.End(f); n < len(m.lines) {
		return 0, fmt.Errorf("%d of %d links were up", n, len(m.lines))
	}
	if f == leg.FIN {
		// A word that is sent at the instant of the cut may be answered before the cut.
		time.Sleep(10 * time.Millisecond)
	}
	ended, err := m.exchange(ctx, fmt.Sprintf("after %s", f))
	for i, l := range m.lines {
		if err == nil && l.State().Redials == before[i] {
			err = fmt.Errorf("link %d was not cut", i)
		}
	}
	return ended.Sub(began), err
}

// exchange sends a different word through every session and returns the time when the last one has returned.
func (m *many) exchange(ctx context.Context, text string) (time.Time, error) {
	for i, e := range m.echo {
		e.say(podName(i) + " " + text + "\n")
	}
	var errs []error
	for i, e := range m.echo {
		select {
		case err := <-e.came:
			errs = append(errs, err)
		case <-ctx.Done():
			return time.Now(), fmt.Errorf("%s: %q did not come back: %w", podName(i), text, m.lines[i].State().Last)
		}
	}
	return time.Now(), errors.Join(errs...)
}

// close ends the sessions by their input, then the links, then the farm.
func (m *many) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, e := range m.echo {
		close(e.in.in)
	}
	var errs []error
	for i, l := range m.lines {
		for l.State().Sessions > 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err := l.proven(ctx); err != nil { // the worker has received FORGET
			errs = append(errs, fmt.Errorf("%s: %w", podName(i), err))
		}
	}
	for _, l := range m.lines {
		errs = append(errs, l.stop())
	}
	if m.leg != nil {
		m.leg.Close()
	}
	if m.farm != nil {
		errs = append(errs, m.farm.close())
	}
	return errors.Join(errs...)
}

// busiest returns the maximum number of dials within one second.
func busiest(asked []time.Time) int {
	most, first := 0, 0
	for i := range asked {
		for asked[i].Sub(asked[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// farmVerb makes this program the other end of many links: the servers and the PID 1s. They run in a separate
// process because a thousand links with both ends need more descriptors than one process may have.
const farmVerb = "farm"

func podName(i int) string { return "w-" + strconv.Itoa(i) }

// farmMain serves N workers below DIR until its stdin ends. It prints the API server's address first. It returns an
// error if a process or goroutine is left.
func farmMain(args []string) (err error) {
	klog.SetLogger(logr.Discard())
	if len(args) != 2 {
		return errors.New("farm N DIR")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	y := &yard{dir: args[1]}
	if y.procs, err = startProcs(); err != nil {
		return err
	}
	if y.cluster, err = server.Start(); err != nil {
		return err
	}
	var workers []worker
	for i := range n {
		dir := filepath.Join(y.dir, podName(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		socket := filepath.Join(dir, names.WorkerSocket)
		w, err := y.inProcess(dir, socket, nil)
		if err != nil {
			return err
		}
		workers = append(workers, w)
		y.cluster.Add(&server.Pod{Name: podName(i), Kubelet: y.cluster.Addr(server.Kubelet), Bridge: bridge(socket)})
	}
	fmt.Println(y.cluster.Addr(server.APIServer))
	_, _ = io.Copy(io.Discard, os.Stdin) // the end of stdin means stop
	errs := []error{y.procs.endSessions()}
	for _, w := range workers {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, y.clean())...)
}

// farm is the farm's process, as the launcher's side sees it.
type farm struct {
	proc  *reap.Process
	stdin *os.File
	addr  string
}

func (y *yard) startFarm(n int) (*farm, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ourOut.Close()
	f := &farm{stdin: ourIn}
	f.proc, err = y.procs.reaper.Start(reap.Spec{Path: exe, Argv: []string{exe, farmVerb, strconv.Itoa(n), filepath.Join(y.dir, "farm")},
		Env: os.Environ(), Files: []*os.File{theirIn, theirOut, os.Stderr}})
	theirOut.Close()
	if err != nil {
		return nil, errors.Join(err, ourIn.Close())
	}
	text, err := bufio.NewReader(ourOut).ReadString('\n')
	f.addr = strings.TrimSpace(text)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start farm: %w", err), f.close())
	}
	return f, nil
}

// close ends the farm. It returns an error if the farm left something.
func (f *farm) close() error {
	f.stdin.Close()
	if st := f.proc.Status(); st.Code != 0 {
		return fmt.Errorf("farm ended with %d", st.Code)
	}
	return nil
}

// ticks receives the child's ticks, which are 8-byte numbers from 0 on, and checks them.
type ticks struct {
	came func() // called at each write, if set

	mu   sync.Mutex
	part []byte
	next uint64
	err  error
}

func (t *ticks) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, p...)
	for ; len(t.part) >= 8; t.part = t.part[8:] {
		if n := binary.BigEndian.Uint64(t.part); n != t.next && t.err == nil {
			t.err = fmt.Errorf("got tick %d, want %d", n, t.next)
		}
		t.next++
	}
	if t.came != nil {
		t.came()
	}
	return len(p), nil
}

// check returns the first error in the ticks.
func (t *ticks) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && t.next == 0 {
		return fmt.Errorf("no tick arrived")
	}
	return t.err
}

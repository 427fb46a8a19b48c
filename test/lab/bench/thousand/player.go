//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// player simulates a worker without a process of its own. It speaks the protocol of `agent worker` on one
// stream, with its flow control, for one session whose output is written here. It accepts one connection of a
// launcher; if the link breaks, the run has failed.
type player struct {
	pod    string
	out    *flow.Out     // the rank's standard output
	kicked chan struct{} // wakes up the sender
	opened chan struct{} // closed when the session is open

	mu      sync.Mutex
	queue   []wire.Frame // frames to send before output
	channel uint32       // the session's; 0: none yet
	over    bool         // the launcher has ended the job
}

func newPlayer(pod string) *player {
	p := &player{pod: pod, kicked: make(chan struct{}, 1), opened: make(chan struct{})}
	p.out = flow.NewOut(wire.StreamWindow, flow.Limits{Floor: 128 << 10, Stream: 1 << 20, Memory: flow.NewBudget(64 << 20)}, p.kick)
	return p
}

func (p *player) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// join serves a launcher's stream until the launcher ends the job.
func (p *player) join(in io.Reader, out io.Writer) error {
	ended, sent := make(chan struct{}), make(chan error, 1)
	go func() { sent <- p.send(out, ended) }()
	err := p.receive(wire.NewReader(bufio.NewReader(in)))
	close(ended)
	return errors.Join(err, <-sent)
}

func (p *player) receive(from *wire.Reader) error {
	for {
		f, err := from.Next()
		if err == nil {
			err = p.handle(f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.pod, err)
		}
		if f.Type == wire.End {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.over = true
			return nil
		}
	}
}

func (p *player) handle(f wire.Frame) error {
	switch f.Type {
	case wire.Hello:
		var hello wire.HelloRecord
		if err := f.Decode(&hello); err != nil {
			return err
		}
		proto, ok := wire.Negotiate(hello.ProtoMin, hello.ProtoMax, wire.ProtoMin, wire.ProtoMax)
		if !ok {
			return fmt.Errorf("no protocol in %d to %d", hello.ProtoMin, hello.ProtoMax)
		}
		return p.record(wire.Welcome, 0, wire.WelcomeRecord{Proto: proto, Version: hello.Version, Instance: wire.NewID(), Hostname: p.pod, CPUs: 1, Slots: 1, Unpacks: true})
	case wire.Open:
		var open wire.OpenRecord
		if err := f.Decode(&open); err != nil {
			return err
		}
		if open.Spec != nil {
			p.out.Gather(time.Duration(open.Spec.GatherMillis) * time.Millisecond)
		}
		return p.open(f.Channel)
	case wire.Ack:
		return p.out.Ack(f.Offset)
	case wire.Ping:
		p.push(wire.Frame{Type: wire.Pong, Offset: f.Offset})
	case wire.End:
		p.push(wire.Frame{Type: wire.Ended})
	case wire.EOF, wire.Forget: // the end of stdin; the launcher has received everything
	default:
		return fmt.Errorf("a frame of type %d", f.Type)
	}
	return nil
}

// open starts the session.
func (p *player) open(channel uint32) error {
	p.mu.Lock()
	again := p.channel != 0
	p.channel = channel
	p.mu.Unlock()
	if again {
		return errors.New("a second session")
	}
	if err := p.record(wire.Opened, channel, wire.OpenedRecord{Created: true}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "begun %d\n", time.Now().UnixNano())
	close(p.opened)
	return err
}

func (p *player) record(t wire.Type, channel uint32, v any) error {
	f, err := wire.Record(t, channel, v)
	if err == nil {
		p.push(f)
	}
	return err
}

func (p *player) push(f wire.Frame) {
	p.mu.Lock()
	p.queue = append(p.queue, f)
	p.mu.Unlock()
	p.kick()
}

func (p *player) take() (queue []wire.Frame, channel uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, p.queue = p.queue, nil
	return queue, p.channel
}

// send writes frames until the launcher has ended the job or the stream breaks.
func (p *player) send(to io.Writer, ended <-chan struct{}) error {
	payload, frames := make([]byte, 16<<10), []byte(nil)
	for {
		queue, channel := p.take()
		if len(queue) == 0 && channel != 0 {
			piece, ok, err := p.out.Next(payload)
			if err != nil {
				return err
			}
			if ok {
				queue = p.data(channel, piece, payload)
			}
		}
		if len(queue) == 0 {
			select {
			case <-p.kicked:
				continue
			case <-ended:
			}
			if queue, _ = p.take(); len(queue) == 0 {
				return nil
			}
		}
		var err error
		frames = frames[:0]
		for _, f := range queue {
			if frames, err = wire.Append(frames, f); err != nil {
				return err
			}
		}
		if _, err = to.Write(frames); err != nil {
			return err
		}
	}
}

// data returns the frames of a piece of output. After the end of the output it adds the session's exit record.
func (p *player) data(channel uint32, piece flow.Piece, payload []byte) []wire.Frame {
	if !piece.End {
		return []wire.Frame{{Type: wire.Data, Stream: wire.Stdout, Channel: channel, Offset: piece.Offset, Payload: payload[:piece.N]}}
	}
	exit, _ := wire.Record(wire.Exit, channel, wire.ExitRecord{Stdout: piece.Offset}) // it cannot fail: the record is small and valid
	return []wire.Frame{
		{Type: wire.EOF, Stream: wire.Stdout, Channel: channel, Offset: piece.Offset},
		{Type: wire.EOF, Stream: wire.Stderr, Channel: channel}, exit}
}

// calm is the pause between the start of the last session and the first line, in which the work of the launch
// finishes.
const calm = 3 * time.Second

// players simulates all workers of a run in this process, because the wake-ups of a thousand processes would
// distort the measurement.
type players struct {
	list  map[string]*player
	order []*player
	wrote chan error // receives the result of print
}

func newPlayers(workers int) *players {
	all := &players{list: map[string]*player{}, wrote: make(chan error, 1)}
	for i := range workers {
		p := newPlayer(podName(i))
		all.list[p.pod] = p
		all.order = append(all.order, p)
	}
	return all
}

func (all *players) join(pod string, in io.Reader, out io.Writer) error {
	p := all.list[pod]
	if p == nil {
		return fmt.Errorf("no pod %s", pod)
	}
	return p.join(in, out)
}

// print makes all ranks write once all sessions have started, and ends their output.
func (all *players) print(ctx context.Context, lines, rate int) {
	var outs []io.Writer
	for _, p := range all.order {
		select {
		case <-p.opened:
		case <-ctx.Done():
			all.wrote <- ctx.Err()
			return
		}
		outs = append(outs, p.out)
	}
	time.Sleep(calm)
	err := printLines(ctx, outs, lines, rate)
	for _, p := range all.order {
		p.out.End()
	}
	all.wrote <- err
}

// finish implements workers. A player counts as ended if its launcher has
// told it that the job is over.
func (all *players) finish(workers int) farmReport {
	said := farmReport{Codes: map[int]int{}}
	err := errors.New("the output did not end in time")
	select {
	case err = <-all.wrote:
	case <-time.After(patience):
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "thousand: "+err.Error())
		return farmReport{Left: workers}
	}
	for _, p := range all.order {
		p.mu.Lock()
		if p.over {
			said.Ended++
		}
		p.mu.Unlock()
	}
	said.Left, said.Codes[0] = workers-said.Ended, said.Ended
	return said
}

// printer writes the lines of all ranks to the ranks' own standard outputs, which the ranks
// pass to it. If a thousand programs woke up ten times a second, the benchmark would
// measure their wake-ups.
type printer struct {
	ln  *net.UnixListener
	out map[int]*os.File // by rank
}

func listenPrinter(path string) (*printer, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for outputs: %w", err)
	}
	return &printer{ln: ln, out: map[int]*os.File{}}, nil
}

// gather receives the outputs of a number of ranks.
func (p *printer) gather(ctx context.Context, ranks int) error {
	stop := context.AfterFunc(ctx, func() { _ = p.ln.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	for len(p.out) < ranks {
		conn, err := p.ln.AcceptUnix()
		if err == nil {
			err = errors.Join(p.take(conn), conn.Close())
		}
		if err != nil {
			return fmt.Errorf("take the outputs of %d ranks, after %d: %w", ranks, len(p.out), errors.Join(err, ctx.Err()))
		}
	}
	return nil
}

func (p *printer) take(conn *net.UnixConn) error {
	rank, control := make([]byte, 16), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := conn.ReadMsgUnix(rank, control)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:m])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(string(rank[:n]))
	if err != nil {
		return err
	}
	p.out[number] = os.NewFile(uintptr(files[0]), "output")
	return nil
}

// print writes the lines of all ranks.
func (p *printer) print(ctx context.Context, lines, rate int) error {
	var outs []io.Writer
	for _, rank := range slices.Sorted(maps.Keys(p.out)) {
		outs = append(outs, p.out[rank])
	}
	return printLines(ctx, outs, lines, rate)
}

// printLines writes a number of lines for each rank, rate per second, with the ranks' turns spread
// evenly. The time in a line is that of its write.
func printLines(ctx context.Context, ranks []io.Writer, lines, rate int) error {
	begin, every := time.Now(), time.Second/time.Duration(rate)
	buf := make([]byte, 0, 64)
	for i := range lines {
		for rank, out := range ranks {
			due := begin.Add(time.Duration(i)*every + time.Duration(rank)*every/time.Duration(len(ranks)))
			if wait := time.Until(due); wait > time.Millisecond { // less than a millisecond early is early enough
				time.Sleep(wait)
			}
			buf = append(strconv.AppendInt(append(buf[:0], "line "...), int64(i), 10), ' ')
			buf = append(strconv.AppendInt(buf, time.Now().UnixNano(), 10), '\n')
			if _, err := out.Write(buf); err != nil {
				return fmt.Errorf("write for rank %d: %w", rank, err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// close closes the outputs, so that they can end.
func (p *printer) close() {
	for _, f := range p.out {
		_ = f.Close() // closing a pipe cannot fail
	}
	clear(p.out)
	_ = p.ln.Close() // closed twice if the ranks have finished
}

//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// player is a worker without a process: it speaks the protocol of `agent worker` on one
// stream, with its flow control, for one session whose output is written here. It takes a
// launcher once; where a link breaks, the run has failed.
type player struct {
	pod    string
	out    *flow.Out     // the rank's standard output
	kicked chan struct{} // the sender has something to look at
	opened chan struct{} // closed when the session is

	mu      sync.Mutex
	queue   []wire.Frame // goes before output
	channel uint32       // the session's; 0: none yet
	over    bool         // the launcher has said that the job is
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

// join speaks with a launcher until that ends the job.
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
	case wire.EOF, wire.Forget: // the end of stdin; the launcher has all
	default:
		return fmt.Errorf("a frame of type %d", f.Type)
	}
	return nil
}

// open begins the session.
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

// send writes frames until the launcher has ended the job, or is gone.
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

// data are the frames of a piece; behind the end of the output comes the session's.
func (p *player) data(channel uint32, piece flow.Piece, payload []byte) []wire.Frame {
	if !piece.End {
		return []wire.Frame{{Type: wire.Data, Stream: wire.Stdout, Channel: channel, Offset: piece.Offset, Payload: payload[:piece.N]}}
	}
	exit, _ := wire.Record(wire.Exit, channel, wire.ExitRecord{Stdout: piece.Offset}) // small and valid
	return []wire.Frame{
		{Type: wire.EOF, Stream: wire.Stdout, Channel: channel, Offset: piece.Offset},
		{Type: wire.EOF, Stream: wire.Stderr, Channel: channel}, exit}
}

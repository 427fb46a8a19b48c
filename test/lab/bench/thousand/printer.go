//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// printer writes the lines of all ranks, into their own standard outputs, which they
// have handed to it: a thousand programs that wake up ten times a second would be
// what is measured.
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

// gather takes the outputs of so many ranks.
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

// print has the ranks write.
func (p *printer) print(ctx context.Context, lines, rate int) error {
	var outs []io.Writer
	for _, rank := range slices.Sorted(maps.Keys(p.out)) {
		outs = append(outs, p.out[rank])
	}
	return printLines(ctx, outs, lines, rate)
}

// printLines writes so many lines for each rank, RATE a second, the ranks' turns spread
// evenly. The time in a line is that of its write.
func printLines(ctx context.Context, ranks []io.Writer, lines, rate int) error {
	begin, every := time.Now(), time.Second/time.Duration(rate)
	buf := make([]byte, 0, 64)
	for i := range lines {
		for rank, out := range ranks {
			due := begin.Add(time.Duration(i)*every + time.Duration(rank)*every/time.Duration(len(ranks)))
			if wait := time.Until(due); wait > time.Millisecond { // what is due within one is written now
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

// close gives the outputs back, so that they can end.
func (p *printer) close() {
	for _, f := range p.out {
		_ = f.Close() // a pipe's cannot fail
	}
	clear(p.out)
	_ = p.ln.Close() // closed twice, where the ranks were done
}

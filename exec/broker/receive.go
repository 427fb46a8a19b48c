package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/rsh"
)

// request is a message from a stub and its descriptors, in order.
type request struct {
	rsh.Request
	kind rsh.Kind
	fds  []int
}

// receive reads one request within requestTime. A large request first waits for a place in large,
// and then has requestTime again. After an error no descriptor stays open.
func receive(ctx context.Context, conn *net.UnixConn, large chan struct{}) (request, error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return request{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }) // do not wait for a silent stub
	defer stop()
	held := false
	body, fds, err := receiveFrame(conn, func() error {
		select {
		case large <- struct{}{}:
			held = true
			return conn.SetReadDeadline(time.Now().Add(requestTime))
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if held {
		defer func() { <-large }()
	}
	if err == nil {
		var q request
		q.kind, q.Request, err = rsh.ParseRequest(body)
		q.fds = fds
		if err == nil && len(fds) != want(q) {
			err = fmt.Errorf("%w: %d file descriptors, want %d", rsh.ErrMalformed, len(fds), want(q))
		}
		if err == nil && !stop() {
			err = ctx.Err()
		}
		if err == nil {
			err = conn.SetReadDeadline(time.Time{})
		}
		if err == nil {
			return q, nil
		}
	}
	closeAll(fds)
	return request{}, fmt.Errorf("read request: %w", err)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}

func want(q request) int {
	switch {
	case q.kind != rsh.KindRun:
		return 0
	case q.NoStdin:
		return 2
	}
	return 3
}

// receiveFrame reads a length and that many bytes. The buffer grows with the bytes that arrive, not
// with the announced length. Before a body of more than largeRequest bytes, it calls enter once.
func receiveFrame(conn *net.UnixConn, enter func() error) (body []byte, fds []int, err error) {
	const headSize = 4
	var all []byte
	chunk := make([]byte, 4<<10) // small, because each silent connection has one
	entered := false
	oob := make([]byte, syscall.CmsgSpace(3*4))
	for {
		n, oobn, flags, _, err := conn.ReadMsgUnix(chunk, oob)
		if oobn > 0 {
			more, rightsErr := rights(oob[:oobn])
			fds = append(fds, more...)
			err = errors.Join(err, rightsErr)
		}
		if err == nil && flags&syscall.MSG_CTRUNC != 0 {
			err = fmt.Errorf("%w: more than three file descriptors", rsh.ErrMalformed)
		}
		if err == nil && n == 0 {
			err = errors.New("the caller closed the connection early")
		}
		if err != nil {
			return nil, fds, err
		}
		all = append(all, chunk[:n]...)
		if len(all) < headSize {
			continue
		}
		size := int64(binary.BigEndian.Uint32(all))
		switch got := int64(len(all) - headSize); {
		case size > rsh.MaxMessage:
			return nil, fds, fmt.Errorf("%w: %d bytes announced, at most %d", rsh.ErrMalformed, size, rsh.MaxMessage)
		case got > size:
			return nil, fds, fmt.Errorf("%w: extra bytes after the request", rsh.ErrMalformed)
		case got == size:
			return all[headSize:], fds, nil
		case size > largeRequest && !entered:
			if err := enter(); err != nil {
				return nil, fds, err
			}
			entered = true
			chunk = make([]byte, 32<<10)
		}
	}
}

func rights(oob []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range messages {
		got, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return fds, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

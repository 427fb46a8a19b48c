package rsh

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
)

// Pending is a call that has not ended. Unlike Call it holds no thread while it waits, so one
// process may have a thousand.
type Pending struct {
	conn  *os.File
	limit time.Duration // see takenWithin
}

// Begin is Call without the wait. It passes r and the descriptors stdout and stderr to the broker
// at socket, without stdin. The caller keeps the descriptors, and may close them, because the
// broker has copies. Errors are sentences.
func Begin(socket string, r Request, stdout, stderr int) (*Pending, error) {
	r.NoStdin = true
	conn, err := request(socket, AppendRequest(nil, KindRun, r), []int{stdout, stderr}, takenWithin)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(conn, true); err != nil {
		unix.Close(conn)
		return nil, &sentence{text: "rsh: wait for the launcher: " + err.Error()}
	}
	return &Pending{os.NewFile(uintptr(conn), "broker"), takenWithin}, nil
}

// Wait returns what Call would.
func (p *Pending) Wait() (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(p.limit)); err != nil {
		return names.ExitTransport, errGone
	}
	reply, err := readReply(p.fill)
	if err != nil {
		return names.ExitTransport, err
	}
	return ended(reply)
}

// fill reads len(b) bytes.
func (p *Pending) fill(b []byte) error {
	n, err := io.ReadFull(p.conn, b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if !p.isTaken() {
			return errNotTaken
		}
		if err = p.conn.SetReadDeadline(time.Time{}); err == nil {
			_, err = io.ReadFull(p.conn, b[n:])
		}
	}
	if err != nil {
		return errGone
	}
	return nil
}

func (p *Pending) isTaken() (yes bool) {
	raw, err := p.conn.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) { yes = isTaken(int(fd)) })
	return yes || err != nil
}

// Close gives up the call: a Wait returns, and the broker stops the session unless it has ended.
func (p *Pending) Close() { p.conn.Close() }

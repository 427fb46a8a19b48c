package rsh

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/names"
)

// Pending is a call whose end nobody has waited for yet. Other than Call it
// holds no thread while it waits, so that one process may have a thousand.
type Pending struct{ conn *os.File }

// Begin is Call without the wait: it hands r and the descriptors stdout and
// stderr to the broker at socket, with no stdin. The descriptors stay the
// caller's, who may close them: the broker has copies. Errors are sentences.
func Begin(socket string, r Request, stdout, stderr int) (*Pending, error) {
	r.NoStdin = true
	conn, err := request(socket, AppendRequest(nil, KindRun, r), []int{stdout, stderr})
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(conn, true); err != nil {
		unix.Close(conn)
		return nil, &sentence{text: "rsh: wait for the launcher: " + err.Error()}
	}
	return &Pending{os.NewFile(uintptr(conn), "broker")}, nil
}

// Wait returns what Call would.
func (p *Pending) Wait() (int, error) {
	reply, err := readReply(func(b []byte) bool {
		_, err := io.ReadFull(p.conn, b)
		return err == nil
	})
	if err != nil {
		return names.ExitTransport, err
	}
	return ended(reply)
}

// Close gives the call up: a Wait returns, and the broker stops the session
// unless it has ended.
func (p *Pending) Close() { p.conn.Close() }

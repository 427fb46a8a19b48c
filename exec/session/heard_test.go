//go:build linux

package session

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// overdue is a connection of a process that did not run for a while: bytes have come, and the deadline of
// the read is over, too. Go looks at the deadline first.
type overdue struct {
	net.Conn
	over  int // deadlines that are over
	bytes string
}

func (o *overdue) SetReadDeadline(time.Time) error { return nil }

func (o *overdue) Read(p []byte) (int, error) {
	if o.over > 0 {
		o.over--
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, o.bytes)
	o.bytes = o.bytes[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestPausedWorker checks that a worker that did not run for a while, such as one in a cgroup that was
// frozen, reads what its launcher has sent meanwhile. A launcher that sends nothing is given up.
func TestPausedWorker(t *testing.T) {
	s := New(Config{})
	got, err := io.ReadAll(heardReader{newConn(s, &overdue{over: 1, bytes: "PING"})})
	require.NoError(t, err)
	require.Equal(t, "PING", string(got))

	_, err = heardReader{newConn(s, &overdue{over: 2})}.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

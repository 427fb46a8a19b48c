package rundir

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// PeerCred returns the uid and pid of the process at the other end of conn, as they were at connect
// (SO_PEERCRED, unix(7)).
func PeerCred(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var failure error
	if err := raw.Control(func(fd uintptr) {
		cred, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, 0, fmt.Errorf("read peer credentials: %w", err)
	}
	if failure != nil {
		return 0, 0, fmt.Errorf("read peer credentials: %w", failure)
	}
	return int(cred.Uid), int(cred.Pid), nil
}

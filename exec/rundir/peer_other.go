//go:build !linux

package rundir

import (
	"errors"
	"net"
)

// PeerCred returns an error, because it needs Linux.
func PeerCred(*net.UnixConn) (uid, pid int, err error) {
	return 0, 0, errors.New("read peer credentials: only on Linux")
}

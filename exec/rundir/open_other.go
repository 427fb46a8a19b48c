//go:build !linux

package rundir

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// at returns the plain path, because workers and launchers run only on Linux.
func (p *private) at(name string) string { return filepath.Join(p.path, name) }

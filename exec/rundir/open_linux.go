package rundir

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// at returns a path to name through the open directory. It is valid while the directory is open,
// even if the original path then leads elsewhere.
func (p *private) at(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(p.file.Fd())) + "/" + name
}

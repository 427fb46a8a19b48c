//go:build linux

package proc

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// Ended returns the record of a process that ended with st at that time. oom is how many processes
// of the container the kernel has killed for memory since the start.
func Ended(st reap.Status, oom int, at time.Time) wire.ExitRecord {
	return wire.ExitRecord{Code: st.Code, Signal: int(st.Signal), Core: st.Core, OOM: oom, EndedMillis: at.UnixMilli()}
}

// Unstarted returns the record of a command that could not be started because of err. As in shells,
// the exit code is 127 if there is no such program or directory, else 126.
func Unstarted(err error) wire.ExitRecord {
	x := wire.ExitRecord{Code: names.ExitNotRunable, Error: err.Error()}
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, exec.ErrNotFound) {
		x.Code = names.ExitNotFound
	}
	return x
}

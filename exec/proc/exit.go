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

// Ended returns the record of a process that ended with st at that time. oom counts the
// processes of the container that the kernel has killed for its memory since the start.
func Ended(st reap.Status, oom int, at time.Time) wire.ExitRecord {
	return wire.ExitRecord{Code: st.Code, Signal: int(st.Signal), Core: st.Core, OOM: oom, EndedMillis: at.UnixMilli()}
}

// Unstarted returns the record of a command that could not be started because of err: 127
// if there is no such program or directory, else 126, as shells have it.
func Unstarted(err error) wire.ExitRecord {
	x := wire.ExitRecord{Code: names.ExitNotRunable, Error: err.Error()}
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, exec.ErrNotFound) {
		x.Code = names.ExitNotFound
	}
	return x
}

//go:build linux

package session

import (
	"cmp"
	"strconv"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// sayStopping logs how many ranks a stop from outside asks to end.
func (st *stopper) sayStopping(reason string, find func() ([]reap.Proc, error), sig syscall.Signal, grace time.Duration) {
	if reason != wire.ReasonPreempted {
		return // the launcher logs it
	}
	if words := proc.Stopping(find, sig, grace); words != "" {
		st.srv.cfg.Log.Info(words, "signal", sig.String())
	}
}

// sayStopped logs how the ranks have ended.
func (st *stopper) sayStopped(reason string, ranks []reap.Outcome) {
	if reason != wire.ReasonPreempted || len(ranks) == 0 {
		return
	}
	var all []reap.Ended
	for _, r := range ranks {
		all = append(all, reap.Ended{Name: cmp.Or(prefixed("rank ", r.Rank), "pid "+strconv.Itoa(r.PID)), After: r.After, Killed: r.Killed})
	}
	st.srv.cfg.Log.Info(reap.Stopped(all, "rank"))
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

//go:build linux

package session

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// A launcher that starts the ranks of its own worker, such as torchrun, may exit 0 although a rank
// failed. The session's own exit record reports that rank.

const (
	// judgePause is how often to look for new ranks.
	judgePause = 250 * time.Millisecond
	// mostBelow limits the shells and launchers between a session's first process and its ranks.
	mostBelow = 4
)

// judgedRank is a rank below a session's first process.
type judgedRank struct {
	key    being
	number string
	comm   string
	pidfd  *reap.Pidfd
}

// judge follows the ranks that launchers start below p until p ends. The returned channel gets the
// rank that failed, or nil. A failure counts only if no other rank has started since: a launcher
// that restarts ranks has noticed it. The kernel reports how ranks ended since Linux 6.15.
func (x *session) judge(p *reap.Process, wanted bool) <-chan *wire.RankRecord {
	result := make(chan *wire.RankRecord, 1)
	if !wanted {
		result <- nil
		return result
	}
	x.srv.wg.Go(func() {
		j := &judged{h: &hunter{}, known: map[being]bool{}}
		defer j.close()
		tick := time.NewTicker(judgePause)
		defer tick.Stop()
		for {
			select {
			case <-p.Done():
				result <- j.failed()
				return
			case <-tick.C:
				j.look(j.h.stat(p.PID()), 0)
			}
		}
	})
	return result
}

// judged holds the ranks of one session.
type judged struct {
	h     *hunter
	known map[being]bool
	ranks []judgedRank
}

// look adds new ranks below p: children of launchers with a rank number.
func (j *judged) look(p reap.Proc, depth int) {
	if p.PID == 0 || !p.Alive() || depth > mostBelow {
		return
	}
	launcher := reap.IsLauncher(p)
	for _, pid := range j.h.children(p) {
		child := j.h.stat(pid)
		key := being{child.PID, child.Start}
		if j.known[key] {
			continue
		}
		if launcher && child.Alive() && !reap.IsLauncher(child) { // before its execve, a child looks like its parent
			if number := numberIn(pid, []string{"RANK"}); number != "" {
				j.take(key, number, child.Comm)
				continue
			}
		}
		j.look(child, depth+1)
	}
}

// take adds a new rank with its pidfd, and drops ranks that have ended.
func (j *judged) take(key being, number, comm string) {
	j.known[key] = true
	j.ranks = slices.DeleteFunc(j.ranks, func(r judgedRank) bool {
		_, ended, _ := r.pidfd.Exit()
		if ended {
			r.pidfd.Close()
		}
		return ended
	})
	j.ranks = append(j.ranks, judgedRank{key, number, comm, reap.OpenPidfd(key.pid)})
}

// failed returns a rank that ended badly. It prefers a rank that did not end by TERM or KILL, with
// which launchers end ranks.
func (j *judged) failed() *wire.RankRecord {
	var found *wire.RankRecord
	for _, r := range j.ranks {
		st, known, _ := r.pidfd.Exit()
		if !known || st.Code == 0 {
			continue
		}
		rec := &wire.RankRecord{Rank: r.number, Command: fmt.Sprintf("%s (pid %d)", r.comm, r.key.pid), Code: st.Code, Signal: int(st.Signal)}
		if st.Signal != syscall.SIGTERM && st.Signal != syscall.SIGKILL {
			return rec
		}
		if found == nil {
			found = rec
		}
	}
	return found
}

func (j *judged) close() {
	for _, r := range j.ranks {
		r.pidfd.Close()
	}
}

//go:build linux

package session

import (
	"encoding/json"
	"slices"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// anyRank is rankVariables and the variable that PyTorch and compatible frameworks read.
var anyRank = [...]string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"}

// answerRoom is how many bytes of an answer's record may be used for sessions and processes.
const answerRoom = wire.MaxRecord - 4<<10

// ask answers a question in its own goroutine: reading /proc may take long, and a process that
// hangs in the kernel may block it. Until then, other questions are not answered.
func (o *observer) ask(c *conn, rec wire.AskRecord) {
	live := o.srv.living()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.answering {
		return
	}
	o.answering = true
	o.srv.wg.Go(func() {
		answer := o.describe(live)
		answer.Seq = rec.Seq
		o.mu.Lock()
		o.answering = false
		o.mu.Unlock()
		c.record(wire.Answer, 0, answer)
	})
}

// askNewest answers when the newest file that matches a glob was written. It has its own goroutine,
// because a file system may hang. Until then, further such questions are not answered.
func (o *observer) askNewest(c *conn, rec wire.AskRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.searching {
		return
	}
	o.searching = true
	o.srv.lookUp(func() {
		var answer wire.NewestRecord
		at, err := proc.Newest(o.srv.cfg.Dir, rec.Newest)
		switch {
		case err != nil:
			answer.Error = sentence(err.Error())
		case !at.IsZero():
			answer.Seconds, answer.Nanos = at.Unix(), int64(at.Nanosecond())
		}
		o.mu.Lock()
		o.searching = false
		o.mu.Unlock()
		c.record(wire.Answer, 0, wire.AnswerRecord{Seq: rec.Seq, Newest: &answer})
		c.flush()
	})
}

// found is a process in an answer, with the index of its session.
type found struct {
	session int
	rec     wire.ProcessRecord
}

// describe returns what the processes of sessions do. It also reports the ends of ranks that it no
// longer finds.
func (o *observer) describe(live []*session) wire.AnswerRecord {
	var all []found
	var sessions []wire.SessionRecord
	left := 0
	for i, x := range live {
		sessions = append(sessions, wire.SessionRecord{ID: x.id, Unread: x.stdout.Unread() + x.stderr.Unread()})
		members := o.lookAt(x)
		if members == nil {
			var err error
			if members, err = x.tree.Find(); err != nil {
				left++ // counts like a process that does not fit
				continue
			}
		}
		for _, p := range members {
			if p.Alive() {
				all = append(all, found{i, processRecord(p)})
			}
		}
	}
	return fit(sessions, all, left)
}

func rankless(rec wire.ProcessRecord) int {
	if rec.Rank == "" {
		return 1
	}
	return 0
}

// fit puts as many sessions and processes into a record as there is room for, ranks first. It sorts
// all.
func fit(sessions []wire.SessionRecord, all []found, left int) wire.AnswerRecord {
	slices.SortStableFunc(all, func(a, b found) int { return rankless(a.rec) - rankless(b.rec) })
	room := answerRoom
	take := func(rec any) bool {
		text, err := json.Marshal(rec)
		if err != nil || room < len(text)+len(",") {
			return false
		}
		room -= len(text) + len(",")
		return true
	}
	answer := wire.AnswerRecord{Left: left}
	for _, x := range sessions {
		if !take(x) {
			break
		}
		answer.Sessions = append(answer.Sessions, x)
	}
	room -= len(`,"processes":[]`) * len(answer.Sessions)
	for _, f := range all {
		if f.session >= len(answer.Sessions) || !take(f.rec) {
			answer.Left++
			continue
		}
		x := &answer.Sessions[f.session]
		x.Processes = append(x.Processes, f.rec)
	}
	return answer
}

func processRecord(p reap.Proc) wire.ProcessRecord {
	d := reap.Look(p.PID)
	rec := wire.ProcessRecord{PID: p.PID, Parent: p.PPID, Start: p.Start, Command: p.Comm, Rank: numberIn(p.PID, anyRank[:]),
		State: string(p.State), Threads: p.Threads, CPU: int64(p.Ticks) * reap.TickTime.Milliseconds(),
		Syscall: d.Number, Call: d.Call, Waiting: d.Waiting, Refused: d.Refused,
		Peer: d.Peer.Address, PeerClosed: d.Peer.Closed, PeerUnheard: d.Peer.Unheard}
	if d.Counted {
		rec.Moved = int64(d.Read + d.Written)
	}
	return rec
}

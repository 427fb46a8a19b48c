//go:build linux

package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// Scene returns what the command's processes in the launcher do. written is the number of bytes
// that they have written, because mpirun prints what its ranks print.
func (c *Command) Scene() (s hang.Scene, written uint64, err error) {
	at := time.Now()
	procs, err := c.tree.Find()
	if err != nil {
		return s, 0, fmt.Errorf("look at %s: %w", c.name, err)
	}
	var processes []wire.ProcessRecord
	var env bytes.Buffer
	for _, p := range procs {
		if inSession(p.PID, &env) {
			continue // the fake worker on this machine reports it
		}
		d := reap.Look(p.PID)
		if !p.Alive() || !d.Counted && hasEnded(p) {
			continue
		}
		if !d.Counted {
			return s, 0, errors.New("the kernel does not show what " + p.Comm + " writes")
		}
		written += d.Written
		processes = append(processes, wire.ProcessRecord{PID: p.PID, Parent: p.PPID, Start: p.Start, Command: p.Comm, State: string(p.State),
			CPU: int64(p.Ticks) * reap.TickTime.Milliseconds(), Moved: int64(d.Read + d.Written), Call: d.Call, Waiting: d.Waiting, Refused: d.Refused,
			Peer: d.Peer.Address, PeerClosed: d.Peer.Closed, PeerUnheard: d.Peer.Unheard})
	}
	return hang.NewScene(at, processes), written, nil
}

// inSession reports whether a process belongs to a session of a worker. Hydra gives the ranks of
// fake workers the environment of mpiexec, and with it the mark of the run.
func inSession(pid int, env *bytes.Buffer) bool {
	if reap.Environ(pid, env) != nil {
		return false
	}
	own := os.Getenv(names.EnvSession)
	for kv := range bytes.SplitSeq(env.Bytes(), []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(names.EnvSession+"=")); ok {
			return string(value) != own
		}
	}
	return false
}

// hasEnded reports whether a process has ended since it was listed.
func hasEnded(p reap.Proc) bool {
	now, err := reap.Stat(p.PID, new(bytes.Buffer))
	return err != nil || now.Start != p.Start || !now.Alive()
}

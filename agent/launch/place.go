//go:build linux

package launch

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/shortage"
)

// place is where a run keeps its socket and files.
type place struct {
	dir      string // private directory
	socket   string // of the broker
	listener *net.UnixListener
	paths    paths
	remove   bool // dir is this run's alone
	planned  bool // a plan of ours lies beside the socket
}

// findPlace makes the private directory, opens the broker's socket at its fixed
// path, and chooses the files. Fake runs have a directory each and take the
// fixed path only when it is free, so that several may run at once.
func findPlace(cfg config.Config) (p place, err error) {
	if p.dir, err = rundir.Create(); err != nil {
		return p, failure.New(names.ExitUsage, cmp.Or(shortage.Way(err), "set "+names.EnvDir+" to a directory of yours with mode 0700"), "%s", phrase.OneLine(err))
	}
	p.socket = filepath.Join(p.dir, names.BrokerSocket)
	p.listener, err = rundir.Listen(p.socket)
	if err == nil {
		p.tidy()
	}
	if cfg.IsFake() {
		if p.dir, err = os.MkdirTemp(p.dir, "fake-"); err != nil {
			p.close()
			return p, fmt.Errorf("make a private directory: %w", err)
		}
		p.remove = true
		if path := filepath.Join(fleet.FakeDir(p.dir, cfg.Fake-1), names.WorkerSocket); len(path) > rundir.MaxSocketPath {
			p.close()
			return p, socketFailure(&rundir.PathTooLongError{Path: path})
		}
		if p.listener == nil {
			p.socket = filepath.Join(p.dir, names.BrokerSocket)
			p.listener, err = rundir.Listen(p.socket)
		}
	}
	if err != nil {
		p.close()
		return p, socketFailure(err)
	}
	if p.paths, err = choosePaths(cfg, p.dir, fleet.InPod()); err != nil {
		p.close()
	}
	return p, err
}

// tidyAfter is how long a fake run may take from its directory to its socket.
const tidyAfter = time.Minute

// tidy removes what fake runs that were killed have left behind. The caller
// holds the fixed socket; a run that does not (another one held it) is alive as
// long as its own socket answers, and may be while its directory is young.
func (p *place) tidy() {
	old, _ := filepath.Glob(filepath.Join(p.dir, "fake-*")) // the pattern is well formed
	for _, dir := range old {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < tidyAfter {
			continue
		}
		if !answers(filepath.Join(dir, names.BrokerSocket)) && !anyAnswers(filepath.Join(dir, "w*", names.WorkerSocket)) {
			_ = os.RemoveAll(dir)
		}
	}
}

func anyAnswers(pattern string) bool {
	sockets, _ := filepath.Glob(pattern) // well formed
	for _, socket := range sockets {
		if answers(socket) {
			return true
		}
	}
	return false
}

// answers reports whether somebody may serve the socket. Only a refusal or a missing
// file says no: a full queue or a shortage of descriptors says nothing.
func answers(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err == nil {
		c.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// socketFailure gives the way out of a socket that cannot be opened.
func socketFailure(err error) error {
	return failure.New(names.ExitUsage, cmp.Or(shortage.Way(err), "another agent run may be going on here; "+names.EnvDir+" gives this one a place of its own"), "%w", err)
}

// take hands the listener over to whoever serves it.
func (p *place) take() *net.UnixListener {
	l := p.listener
	p.listener = nil
	return l
}

// note leaves the plan beside the socket, for `agent env` and `agent hosts`.
func (p *place) note(planned plan.Plan) error {
	p.planned = true
	return savePlan(planned, filepath.Dir(p.socket))
}

// retire takes the plan away. It comes before the socket is given up: after
// that the plan that lies there may be another run's.
func (p *place) retire() {
	if p.planned {
		p.planned = false
		_ = os.Remove(filepath.Join(filepath.Dir(p.socket), planName)) // it lies in our own private directory
	}
}

// trouble leaves word of what is wrong with the run for `agent ready`, which is how a
// LaunchJob's status and events come to know of it; "" takes it back. See [rundir.SetTrouble].
func (p *place) trouble(v *console.Voice, sentence string, until time.Time) {
	if err := rundir.SetTrouble(filepath.Dir(p.socket), sentence, until); err != nil {
		v.Warn("cannot leave word for agent ready: %s", err)
	}
}

// close gives the socket up and removes what is this run's alone.
func (p *place) close() {
	p.retire()
	_ = rundir.SetTrouble(filepath.Dir(p.socket), "", time.Time{})
	if p.listener != nil {
		p.listener.Close()
	}
	// What cannot be removed lies in our own private directory.
	if p.remove {
		_ = os.RemoveAll(p.dir)
	}
}

// newRunID is a short random name for a run.
func newRunID() string { return strings.ToLower(rand.Text()[:10]) }

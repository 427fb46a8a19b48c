//go:build linux

package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
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

// Place is where a run keeps its socket and files.
type Place struct {
	Dir      string // private directory
	Base     string // the directory that it is in, or Dir; it outlives the run
	Socket   string // of the broker
	listener *net.UnixListener
	Paths
	remove  bool // only this run uses Dir
	planned bool // a plan of this run lies beside the socket
}

// Find makes the private directory, listens on the broker's socket at its fixed path, and chooses
// the files.
func Find(cfg config.Config, ground Ground) (p Place, err error) {
	if p.Dir, err = rundir.Create(); err != nil {
		return p, failure.New(names.ExitUsage, cmp.Or(shortage.Way(err), "set "+names.EnvDir+" to a directory that you own, with mode 0700"), "%s", phrase.OneLine(err))
	}
	p.Base, p.Socket = p.Dir, filepath.Join(p.Dir, names.BrokerSocket)
	p.listener, err = rundir.Listen(p.Socket)
	if err == nil {
		p.tidy()
	}
	switch {
	case ground.shared():
		err = p.settle(cfg)
	case err != nil:
		err = socketFailure(err)
	}
	if err != nil {
		p.Close()
		return p, err
	}
	if p.Paths, err = Choose(cfg, ground, p.Dir, fleet.InPod()); err != nil {
		p.Close()
	}
	return p, err
}

// settle gives the run a directory of its own. The run takes the fixed socket only if it is free, so
// that several can run at once.
func (p *Place) settle(cfg config.Config) (err error) {
	if p.Dir, err = os.MkdirTemp(p.Dir, "fake-"); err != nil {
		return fmt.Errorf("make a private directory: %w", err)
	}
	p.remove = true
	if path := filepath.Join(fleet.FakeDir(p.Dir, cfg.Fake-1), names.WorkerSocket); len(path) > rundir.MaxSocketPath {
		return socketFailure(&rundir.PathTooLongError{Path: path})
	}
	if p.listener != nil {
		return nil
	}
	p.Socket = filepath.Join(p.Dir, names.BrokerSocket)
	if p.listener, err = rundir.Listen(p.Socket); err != nil {
		return socketFailure(err)
	}
	return nil
}

// tidyAfter is how long a fake run may take from creating its directory to opening its socket.
const tidyAfter = time.Minute

// tidy removes the directories of killed fake runs. The caller holds the fixed socket. A run
// without the fixed socket is alive as long as its own socket answers. It may also be alive while
// its directory is younger than tidyAfter.
func (p *Place) tidy() {
	old, _ := filepath.Glob(filepath.Join(p.Dir, "fake-*")) // the pattern is valid
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
	sockets, _ := filepath.Glob(pattern) // the pattern is valid
	for _, socket := range sockets {
		if answers(socket) {
			return true
		}
	}
	return false
}

// answers reports whether a process may serve the socket. Only a refused connection or a missing
// file proves that none does: a full queue or a shortage of file descriptors proves nothing.
func answers(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err == nil {
		c.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// socketFailure adds a hint to the error of a socket that cannot be opened.
func socketFailure(err error) error {
	return failure.New(names.ExitUsage, cmp.Or(shortage.Way(err), "another agent run may be running here; "+names.EnvDir+" sets another directory for this one"), "%w", err)
}

// Take hands the listener over to the caller, which serves it.
func (p *Place) Take() *net.UnixListener {
	l := p.listener
	p.listener = nil
	return l
}

// Note saves the plan beside the socket, for `agent env` and `agent hosts`.
func (p *Place) Note(planned plan.Plan) error {
	p.planned = true
	return savePlan(planned, filepath.Dir(p.Socket))
}

// Retire removes the plan. Call it before the socket is closed: after that, the plan there may be
// another run's.
func (p *Place) Retire() {
	if p.planned {
		p.planned = false
		_ = os.Remove(filepath.Join(filepath.Dir(p.Socket), planName)) // the file is in our own private directory
	}
}

// Trouble saves a sentence about what is wrong with the run for `agent ready`, which puts it into
// the status and the events of a LaunchJob. "" removes it. See [rundir.SetTrouble].
func (p *Place) Trouble(v *console.Voice, sentence string, until time.Time) {
	if err := rundir.SetTrouble(filepath.Dir(p.Socket), sentence, until); err != nil {
		v.Warn("cannot report this problem to agent ready: %s", err)
	}
}

// Close closes the socket and removes the files that belong to this run alone.
func (p *Place) Close() {
	p.Retire()
	_ = rundir.SetTrouble(filepath.Dir(p.Socket), "", time.Time{})
	if p.listener != nil {
		p.listener.Close()
	}
	// A file that cannot be removed stays in our own private directory.
	if p.remove {
		_ = os.RemoveAll(p.Dir)
	}
}

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/musterhq/muster/agent/framework/external"
)

// executable is the descriptor of the plugin's file in the plugin.
const executable = 3

// started is the process of one plugin. It implements go-plugin's runner.Runner.
type started struct {
	name    string
	path    string
	file    *os.File // opened and hashed; closed by Open
	env     []string
	dir     string // for its socket
	starter external.Starter

	mu     sync.Mutex // held during Start, and to set dead
	dead   bool       // Kill was called: start nothing anymore
	in     *os.File   // the other end of the plugin's standard input; held until the end
	out    *stdout
	err    *stderr
	proc   external.Process
	code   int  // exit code, valid when ended is closed
	byUs   bool // we killed it; valid when ended is closed
	ended  chan struct{}
	gone   chan struct{} // watch has ended
	ending sync.Once
	fault  error // the error of killing it
}

// runner completes the process with what go-plugin adds: its variables, and the directory of its
// socket.
func (s *started) runner(cmd *exec.Cmd, dir string) (runner.Runner, error) {
	s.env, s.dir = cmd.Env, dir
	return s, nil
}

// Start implements runner.Runner.
func (s *started) Start(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errors.New("it was killed before it was started")
	}
	var ends [3]*os.File // our ends are s.in, s.out, s.err
	defer func() {
		for _, f := range ends {
			f.Close() // nil returns an error, without harm
		}
	}()
	var err error
	if ends[0], s.in, err = os.Pipe(); err != nil {
		return err
	}
	if s.out.pipe, ends[1], err = os.Pipe(); err != nil {
		return err
	}
	if s.err.pipe, ends[2], err = os.Pipe(); err != nil {
		return err
	}
	s.proc, err = s.starter.Start(external.Command{
		Path:  "/proc/self/fd/" + strconv.Itoa(executable),
		Argv:  []string{s.path},
		Env:   s.env,
		Files: []*os.File{ends[0], ends[1], ends[2], s.file},
	})
	if err != nil {
		return err
	}
	go s.watch() //nolint:gosec // G118: it ends with the process, whatever becomes of the request
	return nil
}

// watch records the end of the process. Processes that it started may hold its pipes open, and
// go-plugin would wait for the end of these, so watch kills them a moment later.
func (s *started) watch() {
	defer close(s.gone)
	s.code = s.proc.Wait()
	s.mu.Lock()
	s.byUs = s.dead && s.code == 128+int(syscall.SIGKILL)
	s.mu.Unlock()
	close(s.ended)
	select {
	case <-s.err.done:
	case <-time.After(moment):
	}
	_ = s.Kill(context.Background()) // Close reports the error
}

// Wait implements runner.Runner.
func (s *started) Wait(context.Context) error {
	<-s.ended
	return nil
}

// Kill implements runner.Runner. Processes that the plugin started may hold the pipes open; Kill
// closes our ends, so that no reader waits for them.
func (s *started) Kill(context.Context) error {
	s.ending.Do(func() {
		s.mu.Lock()
		s.dead = true
		s.mu.Unlock()
		if s.proc != nil {
			s.fault = s.proc.Kill()
			select {
			case <-s.ended:
			case <-time.After(patience):
				s.fault = errors.Join(s.fault, errors.New("it was killed, but did not end"))
			}
		}
		for _, f := range []*os.File{s.in, s.out.pipe, s.err.pipe} {
			f.Close() // nil: it was never started
		}
	})
	return s.fault
}

// running reports whether the process has not ended yet.
func (s *started) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Diagnose implements runner.Runner.
func (s *started) Diagnose(context.Context) string { return "" }

// Stdout implements runner.Runner.
func (s *started) Stdout() io.ReadCloser { return s.out }

// Stderr implements runner.Runner.
func (s *started) Stderr() io.ReadCloser { return s.err }

// Name implements runner.Runner.
func (s *started) Name() string { return s.name }

// ID implements runner.Runner.
func (s *started) ID() string { return s.name }

// PluginToHost implements runner.Runner. The plugin's address must be a socket in the directory
// that it was given.
func (s *started) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" || !strings.HasPrefix(address, s.dir+"/") {
		return "", "", fmt.Errorf("it listens at %s %s, want a unix socket in %s", clean(network, mostQuoted), clean(address, mostQuoted), s.dir)
	}
	return network, address, nil
}

// HostToPlugin implements runner.Runner. It is for go-plugin's broker, which Muster does not use.
func (s *started) HostToPlugin(string, string) (string, string, error) {
	return "", "", errors.New("plugins do not call the launcher")
}

//go:build linux

package upload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

const (
	// again is how long after its end a program is restarted.
	again = 10 * time.Second
	// lastTries is how often a program may die after the end of a run.
	lastTries = 3
	// restTime is how long the end of a run waits for the program. It ends by itself a few seconds earlier.
	restTime = 2*time.Minute + 5*time.Second
	// longestLine bounds a line of the program that is printed, in bytes.
	longestLine = 64 << 10
	// firstVictim makes the kernel kill the program before the launcher if memory is short.
	firstVictim = 1000
)

// Config says what to copy, and how.
type Config struct {
	Reaper *reap.Reaper // it must run until Close has returned
	Path   string       // of the program
	Env    []string     // complete environment, with credentials
	To     string       // s3://BUCKET/PREFIX
	Dir    string       // with the output, as package archive writes it
	Voice  *console.Voice
	Log    *slog.Logger
}

// Upload is the copying of one run. Its methods may be called from any goroutine.
type Upload struct {
	cfg   Config
	again time.Duration
	rest  time.Duration
	ended chan struct{} // closed when the run has ended
	stop  chan struct{} // closed when nobody waits any longer
	end   sync.Once
	wg    sync.WaitGroup
	err   error // what is missing; written before wg is done
}

// Start starts the program. The caller must call Close.
func Start(c Config) *Upload {
	u := &Upload{cfg: c, again: again, rest: restTime, ended: make(chan struct{}), stop: make(chan struct{})}
	u.wg.Go(u.run)
	return u
}

// run starts the program until it has copied everything, or has given up after the end of the run.
func (u *Upload) run() {
	for left := lastTries; ; {
		code, words, err := u.once()
		switch {
		case err == nil && code == 0 && closed(u.ended):
			return
		case err == nil && (code == names.ExitOutput || code == names.ExitUsage) && closed(u.ended):
			problem, hint := lastWords(words)
			u.err = failure.New(names.ExitOutput, hint, "--output=%s: %w", u.cfg.To, errors.New(problem))
			return
		}
		switch {
		case closed(u.stop):
			err = errors.New("the launcher did not wait longer")
		case err == nil:
			err = fmt.Errorf("agent-exporter %s", phrase.HowEnded(code, 0))
		}
		if closed(u.ended) {
			left--
		}
		if left == 0 || closed(u.stop) {
			u.err = failure.New(names.ExitOutput, "", "--output=%s: not everything was copied: %w", u.cfg.To, err)
			return
		}
		if !closed(u.ended) {
			u.cfg.Voice.Warn("output is not copied at the moment: %s; trying again", phrase.OneLine(err))
			u.pause()
		}
	}
}

// pause waits until it is time to start the program again.
func (u *Upload) pause() {
	t := time.NewTimer(u.again)
	defer t.Stop()
	select {
	case <-u.ended:
	case <-t.C:
	}
}

// once runs the program until it ends. words is what it printed after the end of the run.
func (u *Upload) once() (code int, words []byte, err error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	said, stderr, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return 0, nil, err
	}
	defer said.Close()
	c := u.cfg
	proc, err := c.Reaper.Start(reap.Spec{Path: c.Path, Argv: []string{c.Path, "upload", c.To, c.Dir}, Env: c.Env,
		Files: []*os.File{stdin, nil, stderr}, Setsid: true, OOMScoreAdj: firstVictim})
	stdin.Close()
	stderr.Close()
	if err != nil {
		return 0, nil, err
	}
	var hearing sync.WaitGroup
	hearing.Go(func() { words = u.hear(said) })
	select {
	case <-u.ended:
		in.Close() // tells the program
	case <-proc.Done():
	}
	select {
	case <-u.stop:
		_ = proc.SignalGroup(syscall.SIGKILL)
	case <-proc.Done():
	}
	code = proc.Status().Code
	hearing.Wait()
	return code, words, nil
}

// hear prints what the program says while the run goes on, and returns what it says after that.
func (u *Upload) hear(said *os.File) (after []byte) {
	defer func() { _, _ = io.Copy(io.Discard, said) }() // a line that is too long must not block the program
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		u.cfg.Log.Debug("agent-exporter", "line", lines.Text())
		if closed(u.ended) {
			after = append(append(after, lines.Bytes()...), '\n')
			continue
		}
		if problem, hint := lastWords(lines.Bytes()); problem != "" {
			u.cfg.Voice.Warn("%s", problem)
		} else {
			u.cfg.Voice.Hint(hint)
		}
	}
	return after
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close tells the program that the run has ended, and waits until it has copied the rest: for restTime, or until
// ctx ends. It returns an error if something is missing in the bucket. A nil Upload does nothing.
func (u *Upload) Close(ctx context.Context) error {
	if u == nil {
		return nil
	}
	u.end.Do(func() {
		close(u.ended)
		ctx, cancel := context.WithTimeout(ctx, u.rest)
		defer cancel()
		give := context.AfterFunc(ctx, func() { close(u.stop) })
		u.wg.Wait()
		give()
	})
	return u.err
}

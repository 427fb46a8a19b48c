//go:build linux

package stacks

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/reap"
)

// Limits of one program.
const (
	mostSaid = 4 << 10                // of its stderr, in bytes
	longest  = 120                    // of the reported line, in bytes
	killTime = 2 * time.Second        // wait for its end after KILL
	lastRead = 100 * time.Millisecond // wait for its output after its end
)

// result is the output of a program.
type result struct {
	out   []byte
	clean bool // it ended by itself with 0
	why   string
}

// run runs a program until it has ended, has printed MostText bytes, or ctx ends. In the last two
// cases it kills the program.
func (o Outside) run(ctx context.Context, path string, args []string) result {
	out, theirOut, err := os.Pipe()
	if err != nil {
		return result{clean: true, why: err.Error()}
	}
	defer out.Close()
	errs, theirErrs, err := os.Pipe()
	if err != nil {
		theirOut.Close()
		return result{clean: true, why: err.Error()}
	}
	defer errs.Close()
	p, err := o.Reaper.Start(reap.Spec{
		Path: path, Argv: append([]string{path}, args...), Dir: "/", Setsid: true,
		Env:   []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LC_ALL=C", "TERM=dumb"}, // no DEBUGINFOD_URLS: debuggers would ask servers
		Files: []*os.File{nil, theirOut, theirErrs},
	})
	theirOut.Close()
	theirErrs.Close()
	if err != nil {
		return result{clean: true, why: err.Error()}
	}
	printed, said := make(chan []byte, 1), make(chan []byte, 1)
	full := make(chan struct{})
	go func() { // ends with the program, or by the deadline below
		text, _ := io.ReadAll(io.LimitReader(out, MostText))
		if len(text) == MostText {
			close(full)
		}
		printed <- text
	}()
	go func() { // ends likewise
		text, _ := io.ReadAll(io.LimitReader(errs, mostSaid))
		_, _ = io.Copy(io.Discard, errs)
		said <- text
	}()
	r := result{}
	select {
	case <-p.Done():
		r.clean = p.Status().Code == 0
	case <-full:
	case <-ctx.Done():
		r.why = "no answer in time"
	}
	_ = p.SignalGroup(syscall.SIGKILL) // it may have ended
	gone := time.NewTimer(killTime)
	defer gone.Stop()
	select {
	case <-p.Done():
	case <-gone.C: // the Reaper collects it later
	}
	_ = out.SetReadDeadline(time.Now().Add(lastRead))
	_ = errs.SetReadDeadline(time.Now().Add(lastRead))
	r.out = <-printed
	r.why = cmp.Or(r.why, firstLine(<-said), "it printed no stack")
	return r
}

// firstLine returns the first line of a program's error message.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(line[:min(len(line), longest)], "?")
}

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

// Bounds of one program.
const (
	mostSaid = 4 << 10                // of its errors, in bytes
	longest  = 120                    // of the line that is told of them
	killTime = 2 * time.Second        // until it has ended after KILL
	lastRead = 100 * time.Millisecond // of its output, when it has ended
)

// result is what a program has printed.
type result struct {
	out   []byte
	clean bool // it ended by itself, well
	why   string
}

// run runs a program until it has ended, has printed MostText bytes, or ctx ends. It is
// killed then.
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
		Env:   []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LC_ALL=C", "TERM=dumb"}, // no DEBUGINFOD_URLS: they would ask servers
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
	go func() { // as well
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

// firstLine is the first line of what a program says of its failure.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(line[:min(len(line), longest)], "?")
}

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// moment is how long the end of a process may come after the end of its pipes or its socket.
const moment = 500 * time.Millisecond

// explain says in one sentence why a start failed. go-plugin writes several lines, and whether they
// say that the process ended or that it wrote nonsense depends on which channel it read first.
// explain looks at what really happened.
func (p *Plugin) explain(err error) error {
	if p.proc.proc == nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno
		}
		return fmt.Errorf("it cannot be run: %w", err)
	}
	line := p.proc.out.firstLine()
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) >= 4 && parts[0] == "1" { // version of go-plugin's protocol; the second field is ours
		if version, verr := strconv.Atoi(parts[1]); verr == nil && version != Protocol {
			return fmt.Errorf("it uses protocol %d, but this launcher uses %d: build it with the plugin package of this release", version, Protocol)
		}
		return errors.New(clean(err.Error(), mostQuoted))
	}
	if line != "" {
		return fmt.Errorf("its output %q is not the handshake of a plugin", clean(line, mostQuoted))
	}
	if p.ended() && !p.proc.byUs {
		return fmt.Errorf("no handshake: %s", p.end())
	}
	if time.Since(p.began) < p.patience {
		return errors.New("no handshake: it closed its standard output")
	}
	return fmt.Errorf("no handshake within %s of its start", p.patience)
}

// broken says why a call failed. The plugin is not used again.
func (p *Plugin) broken(ctx context.Context, err error) error {
	said := status.Convert(err)
	switch {
	case ctx.Err() != nil || late(ctx):
		err = fmt.Errorf("it did not answer within %s", p.patience)
	case p.ended():
		return fmt.Errorf("it ended before it answered: %s", p.end())
	case said.Code() == codes.Unimplemented:
		err = fmt.Errorf("it does not serve %s/%s", service, method)
	case said.Code() == codes.ResourceExhausted:
		err = fmt.Errorf("the request or the answer is larger than %d MiB", mostBytes>>20)
	default:
		err = fmt.Errorf("ask it: %s", clean(said.Message(), mostQuoted))
	}
	return errors.Join(err, p.proc.Kill(context.Background()))
}

// late reports whether the deadline has almost passed. The plugin applies the same deadline by its
// own clock, and may end the call first.
func late(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < 100*time.Millisecond
}

// ended waits up to a moment for the end of the process.
func (p *Plugin) ended() bool {
	select {
	case <-p.proc.ended:
		return true
	case <-time.After(moment):
		return false
	}
}

// end says how a process ended, with its last words.
func (p *Plugin) end() string {
	text := fmt.Sprintf("it ended with code %d", p.proc.code)
	last := p.proc.err.lastWords()
	if strings.Contains(last, "This binary is a plugin.") { // every go-plugin prints this
		return text + " because it expects another cookie: it is a plugin of another program"
	}
	if last != "" {
		text += fmt.Sprintf(", its last output was %q", last)
	}
	return text
}

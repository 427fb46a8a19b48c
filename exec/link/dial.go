package link

import (
	"context"
	"fmt"
	"io"
)

// Dialer opens one byte stream to the worker's PID 1. Dial may return before the remote end has
// answered. If the stream could not be made, or has ended, Read then returns the cause as a
// *DialError. A stream is used once.
type Dialer interface {
	// Dial returns a new stream. ctx limits the dial, not the stream.
	Dial(ctx context.Context) (io.ReadWriteCloser, error)
}

// Kind classifies the failure of a link. It decides whether a redial can help.
type Kind int

// Kinds. Gone and the kinds after it are terminal: the worker's sessions are lost.
const (
	Dropped      Kind = iota // an existing stream ended
	Unreachable              // cannot connect: refused, timed out, TLS
	Unauthorized             // 401: also the answer of an API server that shuts down
	Forbidden                // 403: also the answer of a restarted API server for a while
	NotFound                 // 404: the pod does not exist
	Server                   // 429, 5xx and other answers of the server
	AgentMissing             // the container has no agent at that path
	NoWorker                 // the container has the agent, but no worker runs there
	Ending                   // the worker is going down
	Gone                     // pod replaced, or container restarted
	Incompatible             // no common protocol version
	Superseded               // a newer launcher holds the worker
	OtherJob                 // the worker belongs to another job
	Expired                  // the link was down for a whole lease
	Unknown                  // the worker does not know a session that it had confirmed
	Barred                   // the launcher runs on the worker itself, or is not who it says
)

// Terminal reports whether no redial can help.
func (k Kind) Terminal() bool { return k >= Gone }

// String returns the kind in one or two words.
func (k Kind) String() string {
	names := [...]string{"dropped", "unreachable", "unauthorized", "forbidden", "not found", "server error", "agent missing", "no worker",
		"ending", "gone", "incompatible", "superseded", "other job", "expired", "unknown session", "barred"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return names[k]
}

// DialError says why a stream could not be made or has ended.
type DialError struct {
	Kind Kind
	Err  error
}

func (e *DialError) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

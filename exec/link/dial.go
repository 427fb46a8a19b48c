package link

import (
	"context"
	"fmt"
	"io"
)

// Dialer opens one byte stream to the worker's PID 1. Dial may return before
// the far side has answered; Read then returns the cause, as a *DialError,
// when the stream could not be made or has ended. A stream is used once.
type Dialer interface {
	Dial(ctx context.Context) (io.ReadWriteCloser, error)
}

// Kind classes what went wrong with a link; it decides whether redialling helps.
type Kind int

// Kinds. Those from Gone on are terminal: the worker's sessions are lost.
const (
	Dropped      Kind = iota // the stream was there and ended
	Unreachable              // connect-level: refused, timed out, TLS
	Unauthorized             // 401: also what an API server that goes away answers
	Forbidden                // 403: also what a restarted API server answers for a while
	NotFound                 // 404: the pod is not there
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
)

// Terminal reports whether no redial can help.
func (k Kind) Terminal() bool { return k >= Gone }

// String gives the kind as one word.
func (k Kind) String() string {
	names := [...]string{"dropped", "unreachable", "unauthorized", "forbidden", "not found", "server error", "agent missing", "no worker",
		"ending", "gone", "incompatible", "superseded", "other job", "expired", "unknown session"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return names[k]
}

// DialError is why a stream could not be made or has ended.
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

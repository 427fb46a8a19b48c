package rendezvous

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is what the API server last said. The pods are shared with later
// snapshots and must not be changed.
type Snapshot struct {
	Pods   []*corev1.Pod // by name
	At     time.Time
	Events []corev1.Event // of stuck pods
	Unread bool           // there is no right to read events
	Err    *APIError      // nil while the API server answers; else Pods is the last known state
}

// APIError is the state of an API server that does not answer as it should.
type APIError struct {
	Code     Code // Forbidden, Unauthorized, BadSelector, Unreachable
	Verb     string
	Err      error
	Since    time.Time // of the first failure in a row
	Terminal bool      // Watch has given up
	Hints    string
}

func (e *APIError) Error() string { return fmt.Sprintf("%s pods: %v", e.Verb, e.Err) }

func (e *APIError) Unwrap() error { return e.Err }

// Hint is what the user can do.
func (e *APIError) Hint() string { return e.Hints }

// Reason is the error in the words of the progress line.
func (e *APIError) Reason() Reason {
	brief := map[Code]string{
		Forbidden:    "Forbidden: the launcher may not " + e.Verb + " pods",
		Unauthorized: "Unauthorized: the API server refuses the launcher's token",
	}[e.Code]
	if brief == "" {
		brief = "API server: " + clip(e.Err.Error(), 120)
	}
	return Reason{
		Code: e.Code, Brief: brief, Sentence: clip(e.Error(), 500), Hint: e.Hints,
		Permanent: e.Terminal, Since: e.Since,
	}
}

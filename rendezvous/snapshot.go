package rendezvous

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is the newest answer of the API server. Later snapshots share its pods, so they must not
// be changed.
type Snapshot struct {
	Pods   []*corev1.Pod // sorted by name
	At     time.Time
	Events []corev1.Event // of stuck pods
	Unread bool           // the right to read events is missing
	Err    *APIError      // nil while the API server answers; otherwise Pods is the last known state
}

// APIError is the state of an API server that does not answer, or answers with an error.
type APIError struct {
	Code     Code // Forbidden, Unauthorized, BadSelector, Unreachable
	Verb     string
	Err      error
	Since    time.Time // the first failure of the series
	Terminal bool      // Watch has given up
	Hints    string
}

func (e *APIError) Error() string { return fmt.Sprintf("%s pods: %v", e.Verb, e.Err) }

func (e *APIError) Unwrap() error { return e.Err }

// Hint says what the user can do.
func (e *APIError) Hint() string { return e.Hints }

// Reason returns the error as a reason for the progress line.
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

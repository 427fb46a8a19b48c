package wire

import (
	"cmp"
	"fmt"
	"time"
)

// Epoch orders the launchers of a job: by the launcher pod's creation time,
// then its restart count, then its uid, then its own start, so that of any two
// exactly one is the newer. The start decides between two lives of one pod: the
// second one asks for its restart count before the kubelet has reported it.
type Epoch struct {
	Created  int64  `json:"created"` // Unix nanoseconds
	Restarts int    `json:"restarts"`
	UID      string `json:"uid"`
	Started  int64  `json:"started,omitempty"` // Unix nanoseconds, by the node's clock
}

// Compare is negative when e is older than other, positive when newer.
func (e Epoch) Compare(other Epoch) int {
	return cmp.Or(
		cmp.Compare(e.Created, other.Created),
		cmp.Compare(e.Restarts, other.Restarts),
		cmp.Compare(e.UID, other.UID),
		cmp.Compare(e.Started, other.Started),
	)
}

// String names the launcher for messages.
func (e Epoch) String() string {
	return fmt.Sprintf("launcher %s (created %s, %d restarts)",
		e.UID, time.Unix(0, e.Created).UTC().Format(time.RFC3339), e.Restarts)
}

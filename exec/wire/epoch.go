package wire

import (
	"cmp"
	"fmt"
	"time"
)

// Epoch orders the launchers of a job: by the launcher pod's creation time,
// then its restart count, then its uid, so that of any two exactly one is the
// newer.
type Epoch struct {
	Created  int64  `json:"created"` // Unix nanoseconds
	Restarts int    `json:"restarts"`
	UID      string `json:"uid"`
}

// Compare is negative when e is older than other, positive when newer.
func (e Epoch) Compare(other Epoch) int {
	return cmp.Or(
		cmp.Compare(e.Created, other.Created),
		cmp.Compare(e.Restarts, other.Restarts),
		cmp.Compare(e.UID, other.UID),
	)
}

// String names the launcher for messages.
func (e Epoch) String() string {
	return fmt.Sprintf("launcher %s (created %s, %d restarts)",
		e.UID, time.Unix(0, e.Created).UTC().Format(time.RFC3339), e.Restarts)
}

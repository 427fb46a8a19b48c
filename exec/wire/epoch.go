package wire

import (
	"cmp"
	"fmt"
	"time"
)

// Epoch orders the launchers of a job: by the creation time of the launcher's pod, its restart
// count, its uid, and its own start. Of any two launchers, exactly one is newer. Started decides
// between two containers of one pod: the second one asks for its restart count before the kubelet
// has reported it.
type Epoch struct {
	Created  int64  `json:"created"` // Unix nanoseconds
	Restarts int    `json:"restarts"`
	UID      string `json:"uid"`
	Started  int64  `json:"started,omitempty"` // Unix nanoseconds, by the node's clock
}

// Compare is negative if e is older than other, positive if it is newer, and 0 if they are the
// same.
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

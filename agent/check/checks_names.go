package check

import (
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// lookup judges how long the name server takes. PyTorch asks it for the name of the other end of
// each connection (getnameinfo in torch/csrc/distributed/c10d/socket.cpp), and the rank waits.
func lookup(j Job, w Worker) (Verdict, string) {
	took := w.Facts.LookupMillis
	switch {
	case j.Meet == "" || w.Fake:
		return "", ""
	case took == nil:
		return Unknown, "the worker did not say whether its name server answers"
	case *took >= wire.LongestLookup:
		return Warn, fmt.Sprintf("the name server did not answer within %d s for %s: each rank waits for it, usually 10 s", wire.LongestLookup/1000, j.Meet)
	}
	return OK, fmt.Sprintf("the name server answers for %s in %d ms", j.Meet, *took)
}

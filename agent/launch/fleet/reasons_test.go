//go:build linux

package fleet

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

func TestReasonOf(t *testing.T) {
	w := rendezvous.Worker{Name: "pi-worker-1", Namespace: "ns", Container: "main"}
	dial := func(k link.Kind) error { return &link.DialError{Kind: k, Err: errors.New("the cause")} }
	for kind, code := range map[link.Kind]rendezvous.Code{
		link.Unauthorized: rendezvous.Unauthorized, link.Forbidden: rendezvous.Forbidden,
		link.AgentMissing: rendezvous.NoAgent, link.Incompatible: rendezvous.Incompatible,
		link.Superseded: rendezvous.Superseded, link.Unreachable: rendezvous.Unreachable,
		link.Server: rendezvous.Unreachable, link.Dropped: rendezvous.Unreachable,
		link.Gone: rendezvous.NotReady, link.Ending: rendezvous.NotReady,
	} {
		for _, err := range []error{dial(kind), &link.LostError{Worker: w.Name, Kind: kind, Err: dial(kind)}} {
			r := reasonOf(w, "/muster/agent", err)
			require.Equal(t, code, r.Code, kind)
			require.Equal(t, w.Name, r.Pod)
			require.Contains(t, r.Sentence, "pi-worker-1: ")
			require.Contains(t, r.Sentence, "the cause", kind)
			require.Equal(t, 1, strings.Count(r.Sentence, w.Name), r.Sentence)
			require.NotEmpty(t, r.Hint)
		}
	}
	require.Equal(t, rendezvous.Connecting, reasonOf(w, "", nil).Code)
}

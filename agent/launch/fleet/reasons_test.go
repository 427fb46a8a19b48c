//go:build linux

package fleet

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/rendezvous"
)

func TestReasonOf(t *testing.T) {
	w := rendezvous.Worker{Name: "pi-worker-1", Namespace: "ns", Container: "main"}
	dial := func(k link.Kind) error { return &link.DialError{Kind: k, Err: errors.New("the cause")} }
	for kind, code := range map[link.Kind]rendezvous.Code{
		link.Unauthorized: rendezvous.Unauthorized, link.Forbidden: rendezvous.Forbidden,
		link.AgentMissing: rendezvous.NoAgent, link.Incompatible: rendezvous.Incompatible, link.Barred: rendezvous.Barred,
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

// TestReasonsSayEachThingOnce checks that a sentence does not repeat what the error of the link says.
func TestReasonsSayEachThingOnce(t *testing.T) {
	w := rendezvous.Worker{Name: "pi-worker-1", Namespace: "ns", Container: "main"}
	to := remote.Target{Namespace: "ns", Pod: w.Name, Container: "main", Agent: "/muster/agent"}
	for want, err := range map[string]*link.DialError{
		"pi-worker-1: container main has no agent (/muster/agent): no such file or directory": {
			Kind: link.AgentMissing, Err: &remote.AgentMissingError{Target: to, Complaint: "no such file or directory"}},
		`pi-worker-1: the launcher may not exec into it: User "x" cannot create resource "pods/exec"`: {
			Kind: link.Forbidden, Err: &remote.ForbiddenError{Target: to, Message: `pods "pi-worker-1" is forbidden: User "x" cannot create resource "pods/exec"`}},
	} {
		require.Equal(t, want, reasonOf(w, "/muster/agent", err).Sentence)
	}
}

package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/notice"
)

// TestWordsOf checks that a host is matched to its worker by any of the worker's names.
func TestWordsOf(t *testing.T) {
	hosts := []plan.Host{{Name: "w-0", Host: "10.0.0.1", IP: "10.0.0.1"}, {Name: "w-1", Host: "node-1", IP: "10.0.0.2"}}
	for host, want := range map[string]string{"10.0.0.1": "w-0", "w-0": "w-0", "node-1": "w-1", "10.0.0.2": "w-1", "launcher": "", "": ""} {
		require.Equal(t, want, wordsOf([]notice.End{{Host: host}}, hosts)[0].Worker, host)
	}
}

package show

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/plan"
)

// TestInterfacesAreExplained checks that workers with the same interfaces share a line, and that a
// worker that has not reported its interfaces has none.
func TestInterfacesAreExplained(t *testing.T) {
	at := func(name, ip, network, why string) plan.Host {
		return plan.Host{Name: name, IP: ip, Interface: network, Why: why}
	}
	var text strings.Builder
	explainInterfaces(&text, []plan.Host{
		at("w-0", "10.0.0.7", "eth0", "it has the worker's address 10.0.0.7; also there: ib0, lo"),
		at("w-1", "10.0.0.8", "eth0", "it has the worker's address 10.0.0.8; also there: ib0, lo"),
		at("w-2", "10.0.0.9", "eth0", "it has the worker's address 10.0.0.9; also there: lo"),
		at("w-3", "10.0.0.10", "", "no interface has the worker's address 10.0.0.10; there are: lo"),
		at("w-4", "10.0.0.11", "", ""),
	})
	require.Equal(t, `# network interface of w-0 and 1 more worker: eth0 (it has the worker's address 10.0.0.7; also there: ib0, lo)
# network interface of w-2: eth0 (it has the worker's address 10.0.0.9; also there: lo)
# network interface of w-3: none (no interface has the worker's address 10.0.0.10; there are: lo)
`, text.String())
}

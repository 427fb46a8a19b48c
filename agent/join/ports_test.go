package join

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

// TestPortsAreNotUsedAgain checks that no block overlaps any of the ten previous blocks, or the
// block that a former coordinator used last.
func TestPortsAreNotUsedAgain(t *testing.T) {
	for range 50 {
		const used = 25000
		p := newPorts(0, used)
		last := []int{used}
		for range 40 {
			port := p.take()
			require.GreaterOrEqual(t, port, 20000)
			require.Less(t, port+framework.PortBlock, 32768)
			for _, other := range last {
				require.True(t, port >= other+framework.PortBlock || other >= port+framework.PortBlock, "%d after %v", port, last)
			}
			if last = append(last, port); len(last) > 10 {
				last = last[1:]
			}
		}
	}
	p := newPorts(40000, 0)
	require.Equal(t, []int{40000, 41000, 42000}, []int{p.take(), p.take(), p.take()})
	p = newPorts(40000, 41000)
	require.Equal(t, 42000, p.take(), "the block after the former coordinator's last block")
	p = newPorts(64536, 0)
	require.Equal(t, []int{64536, 64536}, []int{p.take(), p.take()}, "there is room for only one block")
}

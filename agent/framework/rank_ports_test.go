package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFakeWorkersHavePortsOfTheirOwn checks that fake workers use different ports. They share one
// machine, so servers that listen on any address would conflict. Workers with their own addresses
// may use the same port.
func TestFakeWorkersHavePortsOfTheirOwn(t *testing.T) {
	workers := []Node{{Name: "a", IP: "127.0.0.2"}, {Name: "b", IP: "127.0.0.3"}, {Name: "c", IP: "127.0.0.4"}}
	for _, fake := range []bool{false, true} {
		ports := map[int]bool{}
		s := rankPorts{first: 30000, shared: fake}
		for _, w := range workers {
			port, err := s.next(w)
			require.NoError(t, err)
			ports[port] = true
		}
		require.Equal(t, fake, len(ports) == len(workers), "fake %t: %v", fake, ports)
	}
}

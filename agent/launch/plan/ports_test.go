package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

func TestPortsAreFresh(t *testing.T) {
	for range 200 {
		p := NewPorts(0, rand.IntN)
		now := time.Now()
		used := map[int]bool{}
		for range len(p.left) {
			port, wait := p.Next(now)
			require.Zero(t, wait)
			require.GreaterOrEqual(t, port, firstPort)
			require.Less(t, port+framework.PortBlock, 32768, "the kernel's ephemeral ports begin at 32768")
			for other := range used {
				require.True(t, port+framework.PortBlock <= other || other+framework.PortBlock <= port, "%d and %d overlap", port, other)
			}
			used[port] = true
		}
		require.GreaterOrEqual(t, len(used), 10, "enough blocks for the attempts of a minute, with their pauses")
		port, wait := p.Next(now.Add(10 * time.Second))
		require.True(t, used[port])
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, portRest)
	}
}

func TestPortsOfTheUser(t *testing.T) {
	p := NewPorts(63000, rand.IntN)
	now := time.Now()
	var got []int
	for range 4 {
		port, _ := p.Next(now)
		got = append(got, port)
	}
	require.Equal(t, []int{63000, 64000, 63000, 64000}, got)
	_, wait := p.Next(now.Add(20 * time.Second))
	require.Equal(t, 40*time.Second, wait)
	_, wait = p.Next(now.Add(2 * time.Minute))
	require.Zero(t, wait)
	require.Len(t, NewPorts(1<<16-framework.PortBlock, rand.IntN).left, 1)
}

func TestPorts(t *testing.T) {
	require.Equal(t, 4711, AnyPort(4711, rand.IntN))
	seen := map[int]bool{}
	for range 100 {
		p := AnyPort(0, rand.IntN)
		require.GreaterOrEqual(t, p, 20000)
		require.LessOrEqual(t, p+framework.PortBlock, 31000)
		seen[p] = true
	}
	require.Greater(t, len(seen), 50, "runs use different blocks")
}

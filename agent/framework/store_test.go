package framework

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStoreFirst checks that the worker with the store comes first, and that thousands of workers take no
// long time: each worker that joins or leaves makes another plan.
func TestStoreFirst(t *testing.T) {
	var c Cluster
	for i := range 20_000 {
		c.Workers = append(c.Workers, Node{Name: fmt.Sprintf("w-%05d", i), Index: i})
	}
	c.Store = 19_990
	began := time.Now()
	nodes := c.storeFirst(c.Workers)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Len(t, nodes, len(c.Workers))
	require.Equal(t, []Node{c.Workers[19_990], c.Workers[0], c.Workers[1]}, nodes[:3])
	require.Equal(t, []Node{c.Workers[19_989], c.Workers[19_991]}, nodes[19_990:19_992])
}

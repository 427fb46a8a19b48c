package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
)

func TestContract(t *testing.T) {
	contract.Test(t, func(*testing.T) framework.Framework { return nodeList{} })
}

func TestNodeList(t *testing.T) {
	c := contract.Cluster(2, 1, []string{"sh", "train.sh"})
	c.Workers[0].Slots, c.Workers[1].GPUs = 4, 8
	l, err := nodeList{}.Prepare(c)
	require.NoError(t, err)
	got := map[string]string{}
	for _, v := range l.Processes[1].Env {
		got[v.Name] = v.Value
	}
	require.Equal(t, map[string]string{
		"SKYPILOT_NODE_IPS": "198.18.0.10\n198.18.0.11", "SKYPILOT_NODE_RANK": "1", "SKYPILOT_NUM_NODES": "2", "SKYPILOT_NUM_GPUS_PER_NODE": "8",
		"DSTACK_NODES_IPS": "198.18.0.10\n198.18.0.11", "DSTACK_MASTER_NODE_IP": "198.18.0.10", "DSTACK_NODE_RANK": "1", "DSTACK_NODES_NUM": "2",
		"DSTACK_GPUS_PER_NODE": "8", "DSTACK_GPUS_NUM": "12",
	}, got)
	require.Empty(t, l.Warnings)

	c.Workers[1].IP = ""
	_, err = nodeList{}.Prepare(c)
	require.EqualError(t, err, "worker pi-worker-1 has no address")
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// nodeList starts the command once on each worker, with the variables that SkyPilot
// (docs.skypilot.co, "Distributed Jobs on Many Nodes") and dstack (dstack.ai, "Tasks", system
// environment variables) set on their nodes. The command starts its own processes there: `torchrun
// --nproc_per_node $DSTACK_GPUS_PER_NODE ...`.
type nodeList struct{}

// Prepare implements framework.Framework. It returns an error if there are no workers or no
// command, or if a worker has no address.
func (nodeList) Prepare(c framework.Cluster) (framework.Launch, error) {
	if len(c.Workers) == 0 {
		return framework.Launch{}, errors.New("no workers")
	}
	if len(c.Command) == 0 {
		return framework.Launch{}, errors.New("no command")
	}
	var ips []string
	total := 0
	for _, w := range c.Workers {
		if w.IP == "" {
			return framework.Launch{}, fmt.Errorf("worker %s has no address", w.Name)
		}
		ips = append(ips, w.IP)
		total += devices(w)
	}
	list := strings.Join(ips, "\n")
	var l framework.Launch
	if c.Procs > 1 {
		l.Warnings = []string{fmt.Sprintf("the command starts the %d processes of each worker itself: it runs once on each", c.Procs)}
	}
	for i, w := range c.Workers {
		here := strconv.Itoa(devices(w))
		l.Processes = append(l.Processes, framework.Process{
			Worker: i, Rank: i, Role: "node", Index: i, Argv: c.Command,
			Env: []framework.Var{
				{Name: "SKYPILOT_NODE_IPS", Value: list, Why: "the nodes' addresses in rank order, one a line"},
				{Name: "SKYPILOT_NODE_RANK", Value: strconv.Itoa(i), Why: "this node, from 0"},
				{Name: "SKYPILOT_NUM_NODES", Value: strconv.Itoa(len(ips)), Why: "how many nodes there are"},
				{Name: "SKYPILOT_NUM_GPUS_PER_NODE", Value: here, Why: "devices of this node"},
				{Name: "DSTACK_NODES_IPS", Value: list, Why: "the nodes' addresses in rank order, one a line"},
				{Name: "DSTACK_MASTER_NODE_IP", Value: ips[0], Why: "the first node's address"},
				{Name: "DSTACK_NODE_RANK", Value: strconv.Itoa(i), Why: "this node, from 0"},
				{Name: "DSTACK_NODES_NUM", Value: strconv.Itoa(len(ips)), Why: "how many nodes there are"},
				{Name: "DSTACK_GPUS_PER_NODE", Value: here, Why: "devices of this node"},
				{Name: "DSTACK_GPUS_NUM", Value: strconv.Itoa(total), Why: "devices of all nodes"},
			},
		})
	}
	return l, nil
}

// devices returns the number of the worker's GPUs, or its slots if it has none.
func devices(w framework.Node) int {
	if w.GPUs > 0 {
		return w.GPUs
	}
	return w.Slots
}

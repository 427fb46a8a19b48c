package framework

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Ports of an attempt, relative to Cluster.Port.
const (
	portMeet  = 0   // where the ranks meet: one process listens there
	portStore = 1   // torchrun's own store, which outlives the one of the ranks
	portRank  = 100 // the first of the ports that each process has for itself
)

// rank is one process with a rank, and its place.
type rank struct {
	Process
	node     Node
	nodeRank int // number of its worker in rank order
	size     int // ranks of the job
	local    int // ranks of its worker
	nodes    int // workers
	port     int // its own port, unique on its address
}

// usable returns an error if a launch on workers lacks something.
func (c Cluster) usable() error {
	if len(c.Workers) == 0 {
		return errors.New("no workers")
	}
	if len(c.Command) == 0 {
		return errors.New("no command")
	}
	if c.Procs < 0 {
		return fmt.Errorf("%d processes per worker, want at least 1", c.Procs)
	}
	for _, w := range c.Workers {
		if w.address() == "" {
			return fmt.Errorf("worker %q has no address", w.Name)
		}
	}
	if c.Port < 1 || c.Port+PortBlock > 1<<16 {
		return fmt.Errorf("port %d: ports %d to %d are needed, but 65535 is the last port", c.Port, c.Port, c.Port+PortBlock-1)
	}
	return nil
}

// address returns the address that other workers dial. It is not a name, because most frameworks
// fail on a name that does not resolve yet.
func (n Node) address() string {
	if n.IP != "" {
		return n.IP
	}
	return n.Host
}

func (n Node) endpoint(port int) string {
	return net.JoinHostPort(n.address(), strconv.Itoa(port))
}

// procs returns the number of processes that Muster starts on each worker.
func (c Cluster) procs() int { return max(1, c.Procs) }

// noGPU reports whether it is certain that no worker has a GPU.
func (c Cluster) noGPU() bool {
	return c.NoGPU && !slices.ContainsFunc(c.Workers, func(n Node) bool { return n.GPUs > 0 })
}

// nodesByRole lists the workers in rank order, with those of the given roles first: rank 0 belongs
// to the master, wherever its pod is in the list.
func (c Cluster) nodesByRole(first ...string) []Node {
	nodes := slices.Clone(c.Workers)
	slices.SortStableFunc(nodes, func(a, b Node) int {
		return seniority(first, a) - seniority(first, b)
	})
	return nodes
}

func seniority(first []string, n Node) int {
	if i := slices.Index(first, n.Role); i >= 0 && n.Role != "" {
		return i
	}
	return len(first)
}

// ranks numbers Procs processes on each of the nodes, worker by worker.
func (c Cluster) ranks(nodes []Node) ([]rank, error) {
	return c.numbered(nodes, c.procs())
}

func (c Cluster) numbered(nodes []Node, procs int) ([]rank, error) {
	return c.seated(&rankPorts{first: c.Port, shared: c.Fake}, nodes, procs)
}

// seated numbers procs processes on each of the nodes. It takes their ports from the free ones in
// ports.
func (c Cluster) seated(ports *rankPorts, nodes []Node, procs int) ([]rank, error) {
	all := make([]rank, 0, len(nodes)*procs)
	position := c.positions()
	for nodeRank, node := range nodes {
		for local := range procs {
			port, err := ports.next(node)
			if err != nil {
				return nil, err
			}
			all = append(all, rank{
				Process: Process{
					Worker: position(node), Rank: len(all), Local: local,
					Role: "worker", Index: len(all), Argv: c.Command,
				},
				node: node, nodeRank: nodeRank, size: len(nodes) * procs, local: procs, nodes: len(nodes), port: port,
			})
		}
	}
	return all, nil
}

// positions returns a function that is position for thousands of nodes.
func (c Cluster) positions() func(Node) int {
	type key struct {
		name  string
		index int
	}
	at := make(map[key]int, len(c.Workers))
	for i, w := range slices.Backward(c.Workers) {
		at[key{w.Name, w.Index}] = i
	}
	return func(n Node) int {
		if i, ok := at[key{n.Name, n.Index}]; ok {
			return i
		}
		return -1
	}
}

// position returns the node's index in Cluster.Workers, or -1.
func (c Cluster) position(n Node) int {
	return slices.IndexFunc(c.Workers, func(w Node) bool { return w.Name == n.Name && w.Index == n.Index })
}

// rankPorts assigns the ports of one attempt, counted for each address: workers on the host network
// share an address. With shared, all workers count as one address, because fake workers are on one
// machine and servers such as TensorFlow's listen on 0.0.0.0.
type rankPorts struct {
	first  int
	shared bool
	taken  map[string]int
}

func (s *rankPorts) next(n Node) (int, error) {
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	address := n.address()
	if s.shared {
		address = "" // any address
	}
	taken := s.taken[address]
	if portRank+taken >= PortBlock {
		return 0, fmt.Errorf("more than %d processes at the address %s of worker %q: an attempt has %d ports",
			taken, n.address(), n.Name, PortBlock)
	}
	s.taken[address]++
	return s.first + portRank + taken, nil
}

// endpoints lists "address:port" of each rank's own port.
func endpoints(ranks []rank) string {
	list := make([]string, 0, len(ranks))
	for _, r := range ranks {
		list = append(list, r.node.endpoint(r.port))
	}
	return strings.Join(list, ",")
}

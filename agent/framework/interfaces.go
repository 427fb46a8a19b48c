package framework

// sockets returns the variables that keep a process on the network interface of its worker's
// address. Libraries that choose for themselves take the address of the host's own name, or the
// first interface.
func (c Cluster) sockets(n Node) []Var {
	name := c.interfaceOf(n)
	if name == "" {
		return nil
	}
	const why = "network interface with the worker's address"
	vars := []Var{
		{Name: "GLOO_SOCKET_IFNAME", Value: name, Why: why + "; otherwise gloo uses the interface of the host name"},
		{Name: "NCCL_SOCKET_IFNAME", Value: name, Why: why + "; otherwise NCCL uses the first interface that it finds"},
	}
	if c.NoRDMA {
		vars = append(vars, Var{Name: "UCX_NET_DEVICES", Value: name, Why: why + "; no worker has an RDMA device"})
	}
	return vars
}

// interfaceOf returns the network interface of a worker, or "" if not known.
func (c Cluster) interfaceOf(n Node) string {
	if n.Interface == "" && c.Fake {
		return "lo"
	}
	return n.Interface
}

// oneInterface returns the interface that all workers have, or "" if it is not known or not the
// same everywhere: every rank gets the launcher's environment.
func (c Cluster) oneInterface() string {
	for _, w := range c.Workers {
		if c.interfaceOf(w) != c.interfaceOf(c.Workers[0]) {
			return ""
		}
	}
	if len(c.Workers) == 0 {
		return ""
	}
	return c.interfaceOf(c.Workers[0])
}

// launcherSockets returns the variables of [Cluster.sockets] for a command in the launcher, whose
// ranks may use any library.
func (c Cluster) launcherSockets() []Var {
	name := c.oneInterface()
	if name == "" {
		return nil
	}
	return append(c.sockets(c.Workers[0]), Var{Name: "HOROVOD_GLOO_IFACE", Value: name,
		Why: "network interface with the worker's address"})
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The network: a bridge with the machine's own address in it, one veth pair a node, one route for each node's pods. All
// addresses are in 198.18.0.0/15, and what would leave through a real interface is dropped, both ways: an
// address range alone keeps nothing inside, since the machine's default route would take it.

// run runs one command of iproute2 or iptables; its error carries what it said.
func run(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func ip(args string) error { return run(append([]string{"ip"}, strings.Fields(args)...)...) }

func iptables(args string) error {
	return run(append([]string{"iptables", "-w"}, strings.Fields(args)...)...)
}

// owner is the state directory of the cluster whose bridge is on this machine, kept as the bridge's alias; empty
// without a bridge.
func owner() string {
	alias, _ := os.ReadFile("/sys/class/net/" + bridge + "/ifalias")
	return strings.TrimSpace(string(alias))
}

// networkUp makes bridge, routes and drop rules; what is there already stays. The addresses are fixed, so that a
// machine has one cluster: that of another state directory is not touched.
func networkUp(dir string) error {
	if other := owner(); other != "" && other != dir {
		return fmt.Errorf("the cluster of %s is up on this machine: end it with MUSTER_CLUSTER_DIR=%s go run . down", other, other)
	}
	if !exists("/sys/class/net/" + bridge) {
		if err := ip("link add " + bridge + " type bridge"); err != nil {
			return err
		}
	}
	if err := run("ip", "link", "set", bridge, "alias", dir); err != nil {
		return err
	}
	for _, args := range []string{
		"addr replace " + hostIP + "/" + hostPrefix + " dev " + bridge,
		"link set " + bridge + " up",
		// Not the default route, which would lead outside, for what has no route of its own.
		"route replace unreachable " + allNetworks + " metric 9999",
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	return dropRules()
}

// filterRules is the content of our own chain, in the form of iptables-save: anything of ours towards a default route's
// interface is dropped, other traffic of the bridge is let through (a machine with Docker or a firewall has
// policies of DROP).
func filterRules(devices []string) string {
	rules := "*filter\n:" + chain + " - [0:0]\n"
	for _, dev := range devices {
		for _, side := range []string{"-s", "-d"} {
			rules += fmt.Sprintf("-A %s -o %s %s %s -j DROP\n", chain, dev, side, allNetworks)
		}
	}
	for _, side := range []string{"-i", "-o"} {
		rules += fmt.Sprintf("-A %s %s %s -j ACCEPT\n", chain, side, bridge)
	}
	return rules + "COMMIT\n"
}

// builtins are the chains that lead into ours.
func builtins() []string { return []string{"INPUT", "OUTPUT", "FORWARD"} }

// dropRules replaces our chain's content in one step: at no instant is there less than the whole.
func dropRules() error {
	devices, err := defaultDevices()
	if err != nil {
		return err
	}
	cmd := exec.Command("iptables-restore", "-w", "--noflush")
	cmd.Stdin = strings.NewReader(filterRules(devices))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-restore: %w: %s", err, out)
	}
	for _, builtin := range builtins() {
		if iptables("-C "+builtin+" -j "+chain) != nil {
			if err := iptables("-I " + builtin + " -j " + chain); err != nil {
				return err
			}
		}
	}
	return nil
}

// defaultDevices are the interfaces of the machine's default routes; there may be none.
func defaultDevices() ([]string, error) {
	out, err := exec.Command("ip", "-o", "-4", "route", "show", "default").Output()
	if err != nil {
		return nil, fmt.Errorf("list default routes: %w", err)
	}
	return devicesIn(string(out)), nil
}

func devicesIn(routes string) []string {
	var devices []string
	fields := strings.Fields(routes)
	for i := 1; i < len(fields); i++ {
		if fields[i-1] == "dev" {
			devices = append(devices, fields[i])
		}
	}
	return devices
}

// networkDown takes away what networkUp made, and the nodes' cables.
func networkDown() error {
	var errs []error
	for _, n := range nodes() {
		errs = append(errs, unlink(n))
	}
	if exists("/sys/class/net/" + bridge) {
		errs = append(errs, ip("link del "+bridge))
	}
	if out, _ := exec.Command("ip", "route", "show", "type", "unreachable", allNetworks).Output(); len(out) > 0 {
		errs = append(errs, ip("route del unreachable "+allNetworks+" metric 9999"))
	}
	for _, builtin := range builtins() {
		for iptables("-C "+builtin+" -j "+chain) == nil {
			if err := iptables("-D " + builtin + " -j " + chain); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
	}
	if iptables("-n -L "+chain) == nil {
		errs = append(errs, iptables("-F "+chain), iptables("-X "+chain))
	}
	return errors.Join(errs...)
}

// cable is the machine's end of a node's veth pair; the node's end is its eth0.
func cable(n node) string { return "muster-" + n.name }

// link lays the cable of a node whose network namespace is that of pid. The cable stays down until plug.
func link(n node, pid int) error {
	if err := unlink(n); err != nil {
		return err
	}
	return ip(fmt.Sprintf("link add %s type veth peer name eth0 netns %d", cable(n), pid))
}

// unlink removes a node's cable. That of a node which was powered off may vanish by itself at any instant.
func unlink(n node) error {
	err := ip("link del " + cable(n))
	if !exists("/sys/class/net/" + cable(n)) {
		return nil
	}
	return err
}

// plug connects a node's cable to the bridge and sets the route to its pods, which a link that went down has lost.
func plug(n node) error {
	for _, args := range []string{
		"link set " + cable(n) + " master " + bridge + " up",
		"route replace " + n.subnet + " via " + n.ip + " dev " + bridge,
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	return nil
}

// unplug cuts a node off: node and pods go on, nobody reaches them, and no FIN or RST gets out.
func unplug(n node) error { return ip("link set " + cable(n) + " down") }

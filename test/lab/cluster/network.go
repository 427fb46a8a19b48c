package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The network: a bridge with an address of the machine, one veth pair for each node, and one route for each node's
// pods. All addresses are in 198.18.0.0/15. iptables rules drop packets with such addresses at real interfaces, in
// both directions. The address range alone is not enough, because the machine's default route would match it.

// run runs a command of iproute2 or iptables. Its error contains the command's output.
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

// owner returns the state directory of the cluster whose bridge is on this machine, from the bridge's alias. It returns
// "" if there is no bridge.
func owner() string {
	alias, _ := os.ReadFile("/sys/class/net/" + bridge + "/ifalias")
	return strings.TrimSpace(string(alias))
}

// networkUp creates the bridge, routes and drop rules that do not exist yet. The addresses are fixed, so a
// machine can have only one cluster. networkUp does not touch the cluster of another state directory.
func networkUp(dir string) error {
	if other := owner(); other != "" && other != dir {
		return fmt.Errorf("the cluster of %s is up on this machine: stop it with MUSTER_CLUSTER_DIR=%s go run . down", other, other)
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
		// Addresses without a route of their own must not use the default route, which leads outside.
		"route replace unreachable " + allNetworks + " metric 9999",
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	return dropRules()
}

// filterRules returns the rules of our own chain, in the form of iptables-save. Packets with our addresses at a default
// route's interface are dropped. Other traffic of the bridge is accepted, because a machine with Docker or a firewall
// may have a policy of DROP.
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

// builtins returns the built-in chains that jump to ours.
func builtins() []string { return []string{"INPUT", "OUTPUT", "FORWARD"} }

// dropRules replaces the content of our chain atomically, so that the rules are never incomplete.
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

// defaultDevices returns the interfaces of the machine's default routes. There may be none.
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

// networkDown removes everything that networkUp created, and the nodes' cables.
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

// cable returns the name of the machine's end of a node's veth pair. The node's end is its eth0.
func cable(n node) string { return "muster-" + n.name }

// link creates the cable of a node whose network namespace is that of pid. The cable stays down until plug.
func link(n node, pid int) error {
	if err := unlink(n); err != nil {
		return err
	}
	return ip(fmt.Sprintf("link add %s type veth peer name eth0 netns %d", cable(n), pid))
}

// unlink removes a node's cable. After a power-off, the kernel may remove it at the same time.
func unlink(n node) error {
	err := ip("link del " + cable(n))
	if !exists("/sys/class/net/" + cable(n)) {
		return nil
	}
	return err
}

// plug connects a node's cable to the bridge and sets the route to its pods, which is lost when the link goes down.
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

// unplug disconnects a node: node and pods keep running, but cannot be reached, and no FIN or RST gets out.
func unplug(n node) error { return ip("link set " + cable(n) + " down") }

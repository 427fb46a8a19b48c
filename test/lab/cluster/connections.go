package main

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// connectionVerb breaks the API server's connections with some addresses, those of pods: the other clients go on.
func (c cluster) connectionVerb(verb string, addresses []string) error {
	for _, a := range addresses {
		ip, err := netip.ParseAddr(a)
		if err != nil || !netip.MustParsePrefix(podNetwork).Contains(ip) {
			return usageError{"apiserver " + verb + ": " + a + " is no pod's address"}
		}
	}
	list := strings.Join(addresses, " ")
	switch verb {
	case "cut":
		return c.say.step("connections with "+list+" reset", func() error { return cutConnections(addresses) })
	case "drop":
		return c.say.step("packets of "+list+" lost", func() error { return dropPackets(addresses) })
	}
	return c.say.step("packets pass", dropRules)
}

// cutConnections resets both ends of every connection at once (SOCK_DESTROY of the kernel, `ss -K`).
func cutConnections(addresses []string) error {
	var peers []string
	for _, a := range addresses {
		peers = append(peers, "dst "+a)
	}
	filter := fmt.Sprintf("( sport = :%s and ( %s ) )", apiPort, strings.Join(peers, " or "))
	out, err := exec.Command("ss", "-H", "-K", "-t", "-n", "state", "established", filter).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ss -K %s: %w: %s", filter, err, strings.TrimSpace(string(out)))
	}
	// Without CONFIG_INET_DIAG_DESTROY nothing is destroyed, and nothing is said.
	if len(strings.TrimSpace(string(out))) == 0 {
		return fmt.Errorf("ss -K %s: no connection was there, or this kernel cannot destroy any", filter)
	}
	return nil
}

// dropPackets puts rules in front of the others of our chain; dropRules takes them away again.
func dropPackets(addresses []string) error {
	for _, a := range addresses {
		for _, rule := range []string{"-s " + a + " -p tcp --dport " + apiPort, "-d " + a + " -p tcp --sport " + apiPort} {
			if err := iptables("-I " + chain + " " + rule + " -j DROP"); err != nil {
				return err
			}
		}
	}
	return nil
}

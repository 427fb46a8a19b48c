package launch

import (
	"net"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/hostfile"
)

// ownHost is the launcher as a host of its own mpirun, which knows it by an address
// of this pod, and starts the ranks there without the agent; nil: it takes none.
func ownHost(cfg config.Config) *Host {
	if cfg.LauncherSlots == 0 {
		return nil
	}
	h := &Host{Index: -1, Name: cfg.PodName, IP: cfg.PodIP, Slots: cfg.LauncherSlots}
	if cfg.IsFake() {
		h.IP = "127.0.0.1"
	}
	if h.IP == "" {
		h.IP = addressOn(ownInterface(cfg))
	}
	if name, err := os.Hostname(); err == nil && h.Name == "" {
		h.Name = name
	}
	if h.Host = h.IP; h.Host == "" {
		h.Host = h.Name
	}
	return h
}

// addressOn is the first address of an interface that others can reach; "" where
// there is none.
func addressOn(name string) string {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return ""
	}
	addrs, err := i.Addrs()
	if err != nil {
		return ""
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

// all are the hosts that mpirun knows: the launcher first, where it takes ranks.
func (p Plan) all() []Host {
	if p.Own == nil {
		return p.Hosts
	}
	return append([]Host{*p.Own}, p.Hosts...)
}

// lines are hosts for a hostfile.
func lines(hosts []Host) []hostfile.Host {
	list := make([]hostfile.Host, 0, len(hosts))
	for _, h := range hosts {
		list = append(list, hostfile.Host{Name: h.Host, Slots: h.Slots})
	}
	return list
}

// ownRanks refuses ranks in the launcher where nobody would start them there.
func ownRanks(c config.Config, l framework.Launch) error {
	if c.LauncherSlots > 0 && (len(l.Processes) > 0 || len(l.Argv) > 0 || l.Shims) {
		return failure.Usage("leave --launcher-slots away, or start each pod by itself: agent join --workers=N",
			"--launcher-slots=%d: %s starts no ranks in the launcher; mpirun does", c.LauncherSlots, c.Command[0])
	}
	return nil
}

// ownCPUs are the processors that this pod may use, as workers tell theirs.
func ownCPUs() string {
	status, _ := os.ReadFile("/proc/self/status") // elsewhere than on Linux it is not known
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

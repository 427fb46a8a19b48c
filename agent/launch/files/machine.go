package files

import (
	"net"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/wire"
)

// Plan makes a plan for the workers that --hostfile lists, by default all, and for the launcher's
// machine.
func (p Paths) Plan(s plan.Situation) (plan.Plan, error) {
	var err error
	if s.Ranked, err = p.given.choose(s.Ranked); err != nil {
		return plan.Plan{}, err
	}
	if s.Machine, err = p.machine(s.Config, s.Dir); err != nil {
		return plan.Plan{}, err
	}
	return plan.Make(s)
}

// machine describes the launcher's machine. dir is the private directory.
func (p Paths) machine(cfg config.Config, dir string) (plan.Machine, error) {
	m := plan.Machine{Root: os.Getuid() == 0, NoShell: !hasShell(passwdFile, os.Getuid()), Home: homeIfNone(dir)}
	address, err := p.ground.describe(&m, cfg, dir)
	if cfg.LauncherSlots > 0 {
		m.CPUs, m.Own = ownCPUs(), ownHost(cfg, address)
	}
	return m, err
}

// launcherInterface returns the launcher's own network interface: the one that --interface selects
// if the launcher has it, else the result of ownInterface.
func launcherInterface(cfg config.Config) string {
	if cfg.Interface == "" {
		return ownInterface(cfg)
	}
	list, err := net.Interfaces()
	if err != nil {
		return ownInterface(cfg)
	}
	var has []wire.Interface
	for _, i := range list {
		one := wire.Interface{Name: i.Name}
		addrs, _ := i.Addrs() // no addresses on error
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				one.Addresses = append(one.Addresses, n.IP.String())
			}
		}
		has = append(has, one)
	}
	if name, ok := plan.InterfaceOf(has, cfg.Interface); ok {
		return name
	}
	return ownInterface(cfg)
}

// ownHost returns the launcher as a host of its own mpirun. mpirun knows it by an address of this
// pod, and starts ranks there without the agent. address is "" if it is unknown.
func ownHost(cfg config.Config, address string) *plan.Host {
	h := &plan.Host{Index: -1, Name: cfg.PodName, IP: address, Slots: cfg.LauncherSlots}
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

// addressOn returns the first address of an interface that other machines can reach, or "".
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

// ownCPUs returns the processors that this pod may use, in the format that workers report.
func ownCPUs() string {
	status, _ := os.ReadFile("/proc/self/status") // unknown on systems other than Linux
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// homeIfNone returns dir as HOME for a user without one, else "".
func homeIfNone(dir string) string {
	if os.Getenv("HOME") == "" {
		return dir
	}
	return ""
}

// passwdFile lists the users of a pod and their shells; see passwd(5).
const passwdFile = "/etc/passwd"

// hasShell reports whether the entry of uid in file has a shell that Open MPI 4 knows. The file has
// the format of /etc/passwd. Open MPI knows a shell by the name of its program (find_shell in
// plm_rsh_module.c). Images often give their user none, or /usr/sbin/nologin.
func hasShell(file string, uid int) bool {
	users, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(users)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) != 7 || fields[2] != strconv.Itoa(uid) {
			continue
		}
		shell := fields[6]
		switch path.Base(shell) {
		case "bash", "zsh", "tcsh", "csh", "ksh", "sh":
			return strings.Contains(shell, "/")
		}
		return false
	}
	return false
}

// ownInterface returns the network interface whose address workers can reach: the one with our
// pod's address, else the first that is not loopback. Hydra then gives its proxies a numeric
// address, so that they need no DNS. It returns "" if there is no such interface.
func ownInterface(cfg config.Config) string {
	list, err := net.Interfaces()
	if err != nil {
		return ""
	}
	first := ""
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if ok && cfg.PodIP != "" && n.IP.Equal(net.ParseIP(cfg.PodIP)) {
				return i.Name
			}
			if ok && first == "" && n.IP.IsGlobalUnicast() {
				first = i.Name
			}
		}
	}
	return first
}

package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// nodeInit runs as PID 1 of a node. It sets up the node's mounts and network, starts containerd, kubelet and kube-proxy,
// restarts them when they end, and reaps processes. It never ends by itself. When powerOff kills it,
// the kernel kills every process of the node and removes its mounts and interfaces.
func (c cluster) nodeInit(n node) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("node-init must be PID 1 of a node: run up, which starts it")
	}
	if err := c.nodeMounts(n); err != nil {
		return err
	}
	if err := nodeNetwork(n); err != nil {
		return err
	}
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	s := supervisor{programs: c.nodePrograms(n), pids: map[int]*program{}}
	for {
		s.reap()
		wait := s.startDue(time.Now())
		select {
		case <-child:
		case <-time.After(wait):
		}
	}
}

// nodeMounts gives the node a /proc of its PID namespace, a /run that is empty at every boot, and its own directories.
func (c cluster) nodeMounts(n node) error {
	type mount struct {
		from, to, kind string
		flags          uintptr
	}
	mounts := []mount{
		// No mount may propagate to the machine. Inside the node, mounts are shared, as kubelet and containerd require.
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV},
	}
	for _, dir := range ownDirs() {
		mounts = append(mounts, mount{c.nodeDir(n, dir), dir, "", syscall.MS_BIND})
	}
	for _, m := range mounts {
		data := ""
		if m.kind == "tmpfs" {
			data = "mode=755"
		}
		if err := syscall.Mount(m.from, m.to, m.kind, m.flags, data); err != nil {
			return fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	return c.nodeResolver(n)
}

// nodeResolver makes the node use the cluster's DNS. The machine's own servers cannot be reached, so
// resolving a registry's name would time out after half a minute instead of failing at once.
func (c cluster) nodeResolver(n node) error {
	const file = "/etc/resolv.conf"
	target := file
	if to, err := os.Readlink(file); err == nil {
		if target = to; !filepath.IsAbs(to) {
			target = filepath.Join(filepath.Dir(file), to)
		}
	}
	// With systemd-resolved, resolv.conf links to a file in /run, which is empty here.
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("set resolver: %w", err)
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return fmt.Errorf("set resolver: %w", err)
	}
	f.Close()
	if err := syscall.Mount(c.nodeDir(n, "resolv.conf"), target, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// nodeNetwork sets up the node's end of the cable. up creates the cable from outside after this process has started.
func nodeNetwork(n node) error {
	if err := syscall.Sethostname([]byte(n.name)); err != nil {
		return fmt.Errorf("set hostname: %w", err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := net.InterfaceByName("eth0"); err == nil {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("no eth0 after 20 s")
		}
	}
	commands := []string{
		"link set lo up",
		"addr replace " + n.ip + "/" + hostPrefix + " dev eth0",
		"link set eth0 up",
		"route replace default via " + hostIP,
	}
	for _, other := range nodes() {
		if other != n {
			commands = append(commands, "route replace "+other.subnet+" via "+other.ip)
		}
	}
	for _, args := range commands {
		if err := ip(args); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// program is one program of a node.
type program struct {
	name  string
	argv  []string
	log   string
	after func() bool // the program is not started before this returns true
	pid   int         // 0: not running
	begun time.Time
	due   time.Time // not restarted before this time
}

func (c cluster) nodePrograms(n node) []*program {
	containerdAnswers := func() bool {
		conn, err := net.Dial("unix", c.socket(n))
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}
	kubeconfig := func(name string) string { return "--kubeconfig=" + c.nodeDir(n, name+".kubeconfig") }
	list := []*program{
		{name: "containerd", argv: []string{c.program("containerd"), "--config", c.nodeDir(n, "containerd.toml")}, after: func() bool { return true }},
		{name: "kubelet", argv: []string{c.program("kubelet"), "--config=" + c.nodeDir(n, "kubelet.yaml"), kubeconfig("kubelet"),
			"--hostname-override=" + n.name, "--node-ip=" + n.ip}, after: containerdAnswers},
		{name: "kube-proxy", argv: []string{c.program("kube-proxy"), "--config=" + c.nodeDir(n, "kube-proxy.yaml")}, after: func() bool { return true }},
	}
	for _, p := range list {
		p.log = c.logFile(n.name + "-" + p.name)
	}
	return list
}

// supervisor starts programs and reaps all children. Only one goroutine uses it, so that no child can end
// before its pid is known.
type supervisor struct {
	programs []*program
	pids     map[int]*program
}

// reap reaps everything that has ended: the programs, and the processes that PID 1 inherited from containers.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		p := s.pids[pid]
		if p == nil {
			continue
		}
		delete(s.pids, pid)
		ran := time.Since(p.begun)
		fmt.Printf("%s %s ended after %s: exit status %d, signal %d\n", time.Now().Format(time.RFC3339), p.name, ran.Round(time.Millisecond), status.ExitStatus(), status.Signal())
		p.pid = 0
		if ran < 3*time.Second {
			p.due = time.Now().Add(time.Second) // it fails at once: wait before the restart
		}
	}
}

// startDue starts the programs that are due, and returns the time until the next one is.
func (s *supervisor) startDue(now time.Time) time.Duration {
	wait := time.Hour
	for _, p := range s.programs {
		if p.pid != 0 {
			continue
		}
		if now.Before(p.due) || !p.after() {
			wait = min(wait, 50*time.Millisecond)
			continue
		}
		if err := s.launch(p); err != nil {
			fmt.Printf("start %s: %v\n", p.name, err)
			p.due = now.Add(time.Second)
			wait = min(wait, time.Second)
		}
	}
	return wait
}

func (s *supervisor) launch(p *program) error {
	log, err := openLog(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(p.argv[0], p.argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	p.pid, p.begun = pid, time.Now()
	s.pids[pid] = p
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock makes a second up, down or load wait until the first has ended.
func lock(base string, s say) (unlock func(), err error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, fmt.Errorf("create state directory: %w", err)
	}
	f, err := os.Open(base)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		s.done("waiting for another up, down or load to end")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, fmt.Errorf("lock state directory: %w", err)
		}
	}
	return func() { f.Close() }, nil
}

func (c cluster) apiServerVerb(args []string) error {
	const name = "kube-apiserver"
	if len(args) == 0 {
		return usageError{"apiserver: missing verb"}
	}
	signal := func(sig syscall.Signal) error {
		i, _, ok := c.running(name)
		if !ok {
			return fmt.Errorf("%s is not running", name)
		}
		if err := i.kill(sig); err != nil {
			return err
		}
		if sig == syscall.SIGKILL && !i.gone(10*time.Second) {
			return fmt.Errorf("%s (%d) still exists 10 s after SIGKILL", name, i.pid)
		}
		return nil
	}
	switch {
	case args[0] == "kill" && len(args) == 1:
		return c.say.step(name+" killed with SIGKILL", func() error { return signal(syscall.SIGKILL) })
	case args[0] == "stop" && len(args) == 1:
		return c.say.step(name+" stopped with SIGSTOP", func() error { return signal(syscall.SIGSTOP) })
	case args[0] == "cont" && len(args) == 1:
		return c.say.step(name+" continued with SIGCONT", func() error { return signal(syscall.SIGCONT) })
	case args[0] == "start" && len(args) == 1:
		return c.say.step(name+" answers", c.startAPIAgain)
	case args[0] == "restart-after" && len(args) == 2:
		s, err := strconv.ParseFloat(args[1], 64)
		if err != nil || s < 0 {
			return usageError{"apiserver restart-after: " + args[1] + " is not a number of seconds"}
		}
		if err := c.say.step(name+" killed with SIGKILL", func() error { return signal(syscall.SIGKILL) }); err != nil {
			return err
		}
		time.Sleep(time.Duration(s * float64(time.Second)))
		return c.say.step(name+" answers", c.startAPIAgain)
	}
	if len(args) > 1 && args[0] == "cut" || len(args) > 1 && args[0] == "drop" || args[0] == "pass" && len(args) == 1 {
		return c.connectionVerb(args[0], args[1:])
	}
	return usageError{"apiserver: unknown verb " + args[0]}
}

// startAPIAgain restarts the API server with its previous command line.
func (c cluster) startAPIAgain() error {
	data, err := os.ReadFile(c.pidFile("kube-apiserver"))
	if err != nil {
		return errors.New("the cluster is not up")
	}
	_, argv, err := parseRecord(data)
	if err != nil {
		return err
	}
	if _, err := c.start("kube-apiserver", argv, nil); err != nil {
		return err
	}
	return c.awaitAPI()
}

func (c cluster) controllersVerb(args []string) error {
	if len(args) != 1 || args[0] != "restart" {
		return usageError{"controllers: the only verb is restart"}
	}
	return c.say.step("scheduler and controllers restart", c.restartControllers)
}

// restartControllers restarts the scheduler and the controllers. With leader election, an outage of the API
// server would end them. Without it, they continue with lists and watches whose retry intervals have grown to a minute.
func (c cluster) restartControllers() error {
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		_, argv, ok := c.running(name)
		if !ok {
			return c.died(name)
		}
		if err := c.stop(name); err != nil {
			return err
		}
		if _, err := c.start(name, argv, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) restartVerb(program string, args []string) error {
	if len(args) != 2 || args[0] != "restart" {
		return usageError{program + ": the only verb is restart NODE"}
	}
	n, err := nodeNamed(args[1])
	if err != nil {
		return err
	}
	return c.say.step(program+" of "+n.name+" restarts", func() error { return c.restart(n, program) })
}

func (c cluster) nodeVerb(args []string) error {
	if len(args) < 2 {
		return usageError{"node: missing verb or node"}
	}
	n, err := nodeNamed(args[1])
	if err != nil {
		return err
	}
	if args[0] == "exec" && len(args) > 2 {
		return c.nodeExec(n, args[2:])
	}
	if len(args) != 2 {
		return usageError{"node " + args[0] + ": takes one node"}
	}
	switch args[0] {
	case "off":
		return c.say.step(n.name+" is off", func() error { return c.powerOff(n) })
	case "on":
		return c.say.step(n.name+" is Ready", func() error {
			a, err := c.api()
			if err != nil {
				return err
			}
			c.fast = exists(c.fastMark())
			lease, err := c.powerOn(n, a)
			if err != nil {
				return err
			}
			return c.awaitNode(n, a, lease)
		})
	case "unplug":
		return c.say.step(n.name+" is unplugged", func() error { return unplug(n) })
	case "plug":
		return c.say.step(n.name+" is plugged in", func() error { return plug(n) })
	}
	return usageError{"node: unknown verb " + args[0]}
}

// nodeExec replaces this program by a command with the node's mounts, processes, host name and network.
func (c cluster) nodeExec(n node, argv []string) error {
	i, _, ok := c.running(n.name)
	if !ok {
		return fmt.Errorf("%s is off", n.name)
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	// ctr and runc of the node come before Debian's.
	os.Setenv("PATH", filepath.Dir(c.program("ctr"))+":"+filepath.Dir(c.program("runc"))+":"+os.Getenv("PATH"))
	return syscall.Exec(nsenter, append([]string{"nsenter", "--target", strconv.Itoa(i.pid), "--mount", "--uts", "--net", "--pid"}, argv...), os.Environ())
}

// useForeign serves the verbs for the user's own cluster. It builds, starts and stops nothing.
func useForeign(s say, kubeconfig, verb string, args []string) error {
	switch verb {
	case "up", "status":
		return s.step("the cluster of KUBECONFIG="+kubeconfig+" answers", func() error {
			if _, err := exec.LookPath("kubectl"); err != nil {
				return errors.New("KUBECONFIG is set, but there is no kubectl in PATH; unset KUBECONFIG to create a cluster on this machine")
			}
			out, err := exec.Command("kubectl", "--request-timeout=10s", "get", "--raw", "/readyz").CombinedOutput()
			if err != nil {
				return fmt.Errorf("KUBECONFIG is set, but that cluster does not answer: %w\n%s\nunset KUBECONFIG to create a cluster on this machine", err, tail(out, 5))
			}
			return nil
		})
	case "env":
		kubectl, err := exec.LookPath("kubectl")
		if err != nil {
			return errors.New("KUBECONFIG is set, but there is no kubectl in PATH")
		}
		fmt.Printf("export KUBECONFIG=%s\nexport MUSTER_KUBECTL=%s\n", kubeconfig, kubectl)
		return nil
	case "down":
		s.done("not touching the cluster of KUBECONFIG=%s, which is yours", kubeconfig)
		return nil
	case "load":
		return fmt.Errorf("load: KUBECONFIG=%s is your own cluster: push these images to a registry that its nodes reach, or import them on each node with: ctr -n k8s.io images import FILE (kind: kind load image-archive FILE)\n  %s", kubeconfig, args)
	}
	return fmt.Errorf("%s: KUBECONFIG=%s is your own cluster; this works only on a cluster that `up` created (unset KUBECONFIG)", verb, kubeconfig)
}

const usage = `usage: go run . VERB
  up [--kubernetes=1.37] [--fast|--normal]
                                         start all components that are not running, after a cluster of another version
                                         has been stopped; --fast: notice a lost node after 8 s
  down [--clean|--purge]                 stop the cluster; --clean: remove its state, too; --purge: that of all
                                         versions, and the built binaries
  build [--kubernetes=1.37]              build what up needs, and start nothing
  plane [--kubernetes=1.37]              build the programs of a control plane, and print where they are, as JSON
  status                                 print the state of each component
  env                                    print KUBECONFIG, MUSTER_KUBECTL, MUSTER_CLUSTER, MUSTER_AUDIT_LOG for a shell's eval
  load FILE...                           import docker-archive files into both nodes
  smoke                                  check pods on both nodes: exec, DNS, service, token
  apiserver kill|stop|cont|start|restart-after SECONDS
  apiserver cut IP...|drop IP...|pass    reset its connections with these addresses; drop packets; stop dropping
  token expire SECONDS                   print the service account's token on stdin with another expiry
  controllers restart                    restart the scheduler and the controller manager
  kubelet|containerd|kube-proxy restart NODE
  node off|on|unplug|plug NODE
  node exec NODE CMD [ARG...]            run a command inside a node
`

// usageError is an error in the command line. Its message includes the usage.
type usageError struct{ what string }

func (e usageError) Error() string { return e.what + "\n" + usage }

func main() {
	err := runVerb(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, " ✗ %v\n", err)
	var u usageError
	if errors.As(err, &u) {
		os.Exit(64)
	}
	os.Exit(1)
}

func runVerb(args []string) error {
	if len(args) == 0 {
		return usageError{"no verb"}
	}
	verb, args := args[0], args[1:]
	if verb == "node-init" && len(args) == 2 {
		n, err := nodeNamed(args[1])
		if err != nil {
			return err
		}
		c, err := clusterIn(args[0])
		if err != nil {
			return err
		}
		return c.nodeInit(n)
	}
	// A root shell of su keeps the user's PATH, without the directories of ip, iptables and runc.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	base, err := stateDir(os.Getenv)
	if err != nil {
		return err
	}
	if foreign := os.Getenv("KUBECONFIG"); foreign != "" && verb != "plane" && !ours(base, filepath.Dir(foreign)) {
		return useForeign(say{os.Stdout}, foreign, verb, args)
	}
	if verb != "env" && verb != "plane" && os.Geteuid() != 0 {
		return errors.New("the cluster needs root: it creates namespaces, mounts and network devices (or set KUBECONFIG to your own cluster)")
	}
	// These verbs take long and change much, so two must not run at the same time. The second looks for the running
	// cluster when the first has ended.
	if slices.Contains([]string{"up", "build", "down", "load"}, verb) {
		unlock, err := lock(base, say{os.Stdout})
		if err != nil {
			return err
		}
		defer unlock()
	}
	running := owner()
	if !ours(base, running) {
		running = ""
	}
	r, args, err := chosen(verb, args, running)
	if err != nil {
		return err
	}
	c := clusterOf(base, r)
	c.say = say{os.Stdout}
	if verb == "plane" {
		c.say = say{os.Stderr} // stdout is for a program
	}
	if err := c.check(); err != nil {
		return err
	}
	if verb == "down" && running != "" {
		c.dir = running // it may be one of before there were several releases
	}
	return c.run(verb, args)
}

func (c cluster) run(verb string, args []string) error {
	switch verb {
	case "env":
		fmt.Printf("export KUBECONFIG=%s\nexport MUSTER_KUBECTL=%s\nexport MUSTER_CLUSTER=%s\nexport MUSTER_AUDIT_LOG=%s\n", c.kubeconfig(), c.program("kubectl"), c.self(), c.auditLog())
		return nil
	case "up":
		switch strings.Join(args, " ") {
		case "--fast":
			c.fast = true
		case "--normal":
			c.fast = false
		case "":
			c.fast = exists(c.fastMark())
		default:
			return usageError{"up: unknown argument: " + strings.Join(args, " ")}
		}
		return c.up()
	case "build":
		return c.build()
	case "plane":
		return c.plane(args, os.Stdout)
	case "down":
		switch strings.Join(args, " ") {
		case "":
			return c.down("")
		case "--clean":
			if c.dir == c.base {
				return errors.New("down --clean: an older version of this program started the cluster: use --purge")
			}
			return c.down(c.dir)
		case "--purge":
			return c.down(c.base)
		}
		return usageError{"down: unknown argument: " + strings.Join(args, " ")}
	case "load":
		return c.load(args)
	case "status":
		return c.status(os.Stdout)
	case "smoke":
		return c.smoke()
	case "node":
		return c.nodeVerb(args)
	case "apiserver":
		return c.apiServerVerb(args)
	case "controllers":
		return c.controllersVerb(args)
	case "token":
		return c.tokenVerb(args)
	case "kubelet", "containerd", "kube-proxy":
		return c.restartVerb(verb, args)
	}
	return usageError{"unknown verb " + verb}
}

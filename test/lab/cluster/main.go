package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const usage = `usage: go run . VERB
  up [--fast|--normal]                   start the cluster, or what of it does not run; how fast a node is lost
  down [--purge]                         end it; --purge: remove its state and the built binaries too
  build                                  build what up needs, and start nothing
  status                                 print what runs
  env                                    print KUBECONFIG, MUSTER_KUBECTL, MUSTER_CLUSTER, MUSTER_AUDIT_LOG for a shell's eval
  load FILE...                           import docker-archive files into both nodes
  smoke                                  pods on both nodes: exec, DNS, service, token
  apiserver kill|stop|cont|start|restart-after SECONDS
  apiserver cut IP...|drop IP...|pass    its connections with these addresses: reset, silenced, silenced no more
  token expire SECONDS                   the service account's token on stdin, with an end of its own
  controllers restart                    the scheduler and the controller manager
  kubelet|containerd|kube-proxy restart NODE
  node off|on|unplug|plug NODE
  node exec NODE CMD [ARG...]            run a command inside a node
`

// usageError is a command line that means nothing.
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
		return cluster{dir: args[0]}.nodeInit(n)
	}
	// A root shell made by su keeps the user's PATH, without the places of ip, iptables and runc.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	dir, err := stateDir(os.Getenv)
	if err != nil {
		return err
	}
	c := cluster{dir: dir, say: say{os.Stdout}}
	if foreign := os.Getenv("KUBECONFIG"); foreign != "" && foreign != c.kubeconfig() {
		return useForeign(c.say, foreign, verb, args)
	}
	if verb == "env" {
		fmt.Printf("export KUBECONFIG=%s\nexport MUSTER_KUBECTL=%s\nexport MUSTER_CLUSTER=%s\nexport MUSTER_AUDIT_LOG=%s\n", c.kubeconfig(), c.kubeBin("kubectl"), c.self(), c.auditLog())
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("the cluster needs root: it makes namespaces, mounts and network devices (or set KUBECONFIG to a cluster of yours)")
	}
	if err := c.check(); err != nil {
		return err
	}
	switch verb {
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
	// These change much and take long: two at once would get into each other's way.
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	switch verb {
	case "up":
		switch strings.Join(args, " ") {
		case "--fast":
			c.fast = true
		case "--normal":
			c.fast = false
		case "":
			c.fast = exists(c.fastMark())
		default:
			return usageError{"up: what is " + strings.Join(args, " ") + "?"}
		}
		return c.up()
	case "build":
		return c.build()
	case "down":
		if len(args) > 0 && (len(args) > 1 || args[0] != "--purge") {
			return usageError{"down: what is " + strings.Join(args, " ") + "?"}
		}
		return c.down(len(args) == 1)
	case "load":
		return c.load(args)
	}
	return usageError{"unknown verb " + verb}
}

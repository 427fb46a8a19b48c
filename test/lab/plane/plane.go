//go:build linux

package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/test/lab/cluster/keys"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// Version is the minor version of Kubernetes that planes run.
const Version = "1.37"

// Programs are the programs of a control plane, and the flags that their version needs in addition.
type Programs struct {
	Programs map[string]string
	Flags    map[string][]string
}

// Find returns the programs of test/lab/cluster. It builds missing ones, which takes minutes.
func Find(ctx context.Context) (p Programs, err error) {
	root, err := figure.Root()
	if err != nil {
		return p, err
	}
	cmd := exec.CommandContext(ctx, "go", "-C", filepath.Join(root, "test/lab/cluster"), "run", ".", "plane", "--kubernetes="+Version)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOWORK=off"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("find the programs of a control plane: %w", err)
	}
	return p, json.Unmarshal(out, &p)
}

// Plane is a control plane that runs.
type Plane struct {
	Name       string
	Kubeconfig string // of an administrator
	programs   Programs
	dir, logs  string
	port       map[string]string // etcd, peer, kube-apiserver
	keys       keys.Dir
	running    []*program.Process
}

// Start starts a control plane without nodes. Its files are below dir, and its processes write NAME-PROGRAM.log in
// logs. Stop ends them, also after an error.
func (p Programs) Start(ctx context.Context, name, dir, logs string) (*Plane, error) {
	one := &Plane{Name: name, programs: p, dir: filepath.Join(dir, name), logs: logs, Kubeconfig: filepath.Join(dir, name, "kubeconfig")}
	one.keys = keys.Dir(filepath.Join(one.dir, "keys"))
	err := one.start(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane %s: %w", name, err), one.Stop())
	}
	return one, nil
}

func (p *Plane) start(ctx context.Context) (err error) {
	if p.port, err = ports("etcd", "peer", "kube-apiserver"); err != nil {
		return err
	}
	users := []string{"admin", "kube-controller-manager", "kube-scheduler"}
	if err := p.keys.Make(certificates()); err != nil {
		return err
	}
	for _, user := range users {
		if err := p.keys.Kubeconfig(p.kubeconfig(user), p.URL(), user); err != nil {
			return err
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := p.Run(name, nil, p.argv(name)...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := p.Until(ctx, "the API server", func() error {
		_, err := p.Kubectl(ctx, "", nil, "get", "--raw", "/readyz")
		return err
	}); err != nil {
		return err
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := p.Run(name, nil, p.argv(name)...); err != nil {
			return err
		}
	}
	return p.Until(ctx, "the service account of namespace default", func() error {
		_, err := p.Kubectl(ctx, "default", nil, "get", "serviceaccount", "default")
		return err
	})
}

// Run starts a program beside the control plane. It ends with it.
func (p *Plane) Run(name string, env []string, argv ...string) error {
	one, err := program.Start(filepath.Join(p.logs, p.Name+"-"+name+".log"), env, argv...)
	if err != nil {
		return err
	}
	p.running = append(p.running, one)
	return nil
}

// Until calls so until it returns nil. If one of the plane's processes ends first, it returns that error.
func (p *Plane) Until(ctx context.Context, what string, so func() error) error {
	return await.Until(ctx, 100*time.Millisecond, what, func() (bool, error) {
		if err := p.Died(); err != nil {
			return true, err
		}
		err := so()
		return err == nil, err
	})
}

// Died returns an error if one of the plane's processes has ended by itself.
func (p *Plane) Died() error {
	for _, one := range p.running {
		if err := one.Died(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the processes, the last one first, and removes the plane's files.
func (p *Plane) Stop() error {
	var errs []error
	for _, one := range slices.Backward(p.running) {
		errs = append(errs, one.End())
	}
	p.running = nil
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// Kubectl runs kubectl as an administrator. Errors include its stderr.
func (p *Plane) Kubectl(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error) {
	return kube.Program(ctx, stdin, p.programs.Programs["kubectl"], append([]string{"--kubeconfig", p.Kubeconfig, "--namespace", namespace}, args...)...)
}

// Config returns the configuration of a client with the rights of an administrator.
func (p *Plane) Config() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 100, 200
	return cfg, nil
}

// URL is the address of the API server.
func (p *Plane) URL() string { return "https://127.0.0.1:" + p.port["kube-apiserver"] }

func (p *Plane) kubeconfig(user string) string {
	if user == "admin" {
		return p.Kubeconfig
	}
	return filepath.Join(p.dir, user+".kubeconfig")
}

// certificates returns the certificates of a plane. Kubernetes' default RBAC rules expect these user names.
func certificates() []keys.Certificate {
	return []keys.Certificate{
		{File: "kube-apiserver", User: "kube-apiserver", Names: []string{"127.0.0.1", "localhost", "kubernetes.default.svc"}},
		{File: "admin", User: "admin", Group: "system:masters"},
		{File: "kube-controller-manager", User: "system:kube-controller-manager"},
		{File: "kube-scheduler", User: "system:kube-scheduler"},
	}
}

// argv returns the command line of a component.
func (p *Plane) argv(name string) []string {
	local := func(port string) string { return "http://127.0.0.1:" + p.port[port] }
	argv := []string{p.programs.Programs[name]}
	switch name {
	case "etcd":
		// Nothing outlives the test, so nothing waits for the disk.
		argv = append(argv, "--name=plane", "--data-dir="+filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync", "--listen-client-urls="+local("etcd"),
			"--advertise-client-urls="+local("etcd"), "--listen-peer-urls="+local("peer"), "--initial-advertise-peer-urls="+local("peer"), "--initial-cluster=plane="+local("peer"))
	case "kube-apiserver":
		argv = append(argv, "--etcd-servers="+local("etcd"), "--bind-address=127.0.0.1", "--secure-port="+p.port[name],
			"--endpoint-reconciler-type=none", // an Endpoints object rejects loopback addresses
			"--authorization-mode=RBAC", "--allow-privileged=true", "--service-cluster-ip-range=198.19.0.0/24",
			"--client-ca-file="+p.keys.File("ca.crt"), "--tls-cert-file="+p.keys.File(name+".crt"), "--tls-private-key-file="+p.keys.File(name+".key"),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+p.keys.File("service-account.pub"), "--service-account-signing-key-file="+p.keys.File("service-account.key"))
	case "kube-controller-manager":
		argv = append(argv, "--kubeconfig="+p.kubeconfig(name), "--secure-port=0", "--leader-elect=false",
			"--controllers=*,-node-ipam-controller", "--use-service-account-credentials",
			"--service-account-private-key-file="+p.keys.File("service-account.key"), "--root-ca-file="+p.keys.File("ca.crt"),
			// A node that says it is not ready is tainted at once. kwok renews leases every 10 s, or later on a busy machine.
			"--node-monitor-period=1s", "--node-monitor-grace-period=120s")
	case "kube-scheduler":
		argv = append(argv, "--kubeconfig="+p.kubeconfig(name), "--secure-port=0", "--leader-elect=false")
	}
	return append(argv, p.programs.Flags[name]...)
}

// ports returns free ports of loopback. Another program may take one of them before it is used, which is unlikely:
// the kernel hands out the others first.
func ports(names ...string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		found[name] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return found, nil
}

// FreePort returns a free port of loopback.
func FreePort() (string, error) {
	found, err := ports("one")
	return found["one"], err
}

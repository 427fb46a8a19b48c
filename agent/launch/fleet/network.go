//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/tree"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// Network dials workers by the pod network, and by pods/exec if that fails. It implements Dialers.
type Network struct {
	key      secure.LauncherKey
	launcher *secure.Launcher
	port     int
	exec     Dialers
	gate     *link.Gate // of exec
	log      *slog.Logger
	tree     *tree.Tree

	mu   sync.Mutex
	fell map[string]error // why workers are linked by exec, by name
	said bool             // the user was told
}

// NewNetwork reads the launcher's key. It returns nil if the workers are not to be reached by
// network. Errors are *failure.Failure with code 64.
func NewNetwork(cfg config.Config) (*Network, error) {
	if !cfg.ByNetwork() {
		return nil, nil
	}
	if cfg.IsFake() && cfg.KeyFile == "" {
		return newNetwork(secure.NewLauncherKey(), cfg), nil
	}
	key, err := secure.ReadLauncherKey(cfg.KeyFile)
	if cfg.Transport == config.TransportAuto && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure.Usage("agent keygen --dir=DIR writes launcher.key; mount it in the launcher's pod from a Secret that no other pod has", "--key-file: %w", err)
	}
	return newNetwork(key, cfg), nil
}

func newNetwork(key secure.LauncherKey, cfg config.Config) *Network {
	n := &Network{key: key, port: cfg.WorkerPort, fell: map[string]error{}}
	n.tree = tree.New(cfg.Most()+cfg.Spares, dialTCP, n.seal)
	return n
}

// seal opens the trunk to a worker that is a relay for others.
func (n *Network) seal(ctx context.Context, w tree.Worker, dial tree.Dial) (io.ReadWriteCloser, error) {
	d := network.Dialer{Launcher: n.launcher.Trunks(), Worker: w.Name, UID: w.UID, Connect: dial,
		Address: func() (string, error) { return w.Address, nil }}
	return d.Dial(ctx)
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// Close ends the trunks, and with them the links that pass through them. n may be nil.
func (n *Network) Close() {
	if n != nil {
		n.tree.Close()
	}
}

// prove makes what proves to workers that this process is their launcher.
func (n *Network) prove(hello wire.HelloRecord) (err error) {
	n.launcher, err = secure.NewLauncher(n.key, hello.Job, hello.Epoch)
	return err
}

// Over completes n for workers that can also be reached by exec, whose gate protects its API server.
// hello is the first message to each worker.
func (n *Network) Over(exec Dialers, gate *link.Gate, hello wire.HelloRecord, log *slog.Logger) error {
	n.exec, n.gate, n.log = exec, gate, log
	return n.prove(hello)
}

// Dialer implements Dialers.
func (n *Network) Dialer(w rendezvous.Worker) link.Dialer {
	name, ip := w.Name, w.IP // what refers to w would keep all of it, for each of thousands
	return &either{
		network: n.to(name, w.UID, func() (string, error) {
			if ip == "" {
				return "", errors.New("the pod has no address yet")
			}
			return net.JoinHostPort(ip, strconv.Itoa(n.port)), nil
		}),
		exec: n.exec.Dialer(w), gate: n.gate,
		fell: func(why error) { n.note(name, why) },
	}
}

// to returns what dials a worker by network only.
func (n *Network) to(worker, uid string, address func() (string, error)) *network.Dialer {
	return &network.Dialer{Launcher: n.launcher, Worker: worker, UID: uid, Address: address,
		Connect: func(ctx context.Context, address string) (net.Conn, error) {
			n.tree.Join(tree.Worker{Name: worker, UID: uid, Address: address})
			return n.tree.Dial(ctx, worker)
		}}
}

// note records that a worker is linked by exec.
func (n *Network) note(worker string, why error) {
	n.mu.Lock()
	n.fell[worker] = why
	n.mu.Unlock()
	n.log.Info("worker is linked by exec", "worker", worker, "err", why)
}

// Say tells the user, once, how many workers are linked by exec, and why. n may be nil.
func (n *Network) Say(voice *console.Voice, workers []rendezvous.Worker) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	count, example := 0, ""
	for _, w := range workers {
		if n.fell[w.Name] != nil {
			if count++; count == 1 {
				example = w.Name
			}
		}
	}
	if count == 0 || n.said {
		return
	}
	n.said = true
	voice.Warn("%d of %s cannot be reached by network and are linked by exec, such as %s: %s",
		count, phrase.Count(len(workers), "worker"), example, phrase.OneLine(n.fell[example]))
	voice.Hint(n.way(n.fell[example]))
}

// way returns what the user can do about an error of the network.
func (n *Network) way(err error) string {
	if network.Unproved(err) {
		return "give the worker worker.key of the same pair with --key-file, and its pod's name with MUSTER_POD_NAME; its log says why it refused"
	}
	return fmt.Sprintf("give workers the key of the job with --key-file, and allow TCP port %d from the launcher to the workers in the NetworkPolicy", n.port)
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/network/listener"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/tree"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/fault/leg"
)

// epoch is that of each launcher here.
var epoch = wire.Epoch{Created: 1, UID: "launcher"}

// lan is what a rig of the pod network has: a relay in front of its worker, and the keys of both.
type lan struct {
	key      secure.LauncherKey
	launcher *secure.Launcher
	relay    worker
	relayed  bool       // the next link passes through the relay
	tree     *tree.Tree // of the newest link through it; nil: none
}

// door is where a worker listens for its launcher by network. A worker in this process uses network and
// instance, and one that is a process uses env.
type door struct {
	network  session.Network
	instance string
	env      []string
	address  string
}

// overNetwork completes a rig whose worker is reached by network. start starts a PID 1.
func (r *rig) overNetwork(start func(dir, socket string, d *door) (worker, error), socket string) (err error) {
	r.lan = &lan{key: secure.NewLauncherKey()}
	if r.lan.launcher, err = secure.NewLauncher(r.lan.key, "", epoch); err != nil {
		return err
	}
	relayDir := filepath.Join(r.dir, "relay")
	if err := os.MkdirAll(relayDir, 0o700); err != nil {
		return err
	}
	own, err := r.door(r.name, r.up)
	if err != nil {
		return err
	}
	if r.worker, err = start(r.dir, socket, own); err != nil {
		return err
	}
	relay, err := r.door("relay", &leg.Tap{})
	if err != nil {
		return err
	}
	if r.lan.relay, err = start(relayDir, filepath.Join(relayDir, names.WorkerSocket), relay); err != nil {
		return err
	}
	for at, to := range map[int]string{networkLeg: own.address, trunkLeg: relay.address, laneLeg: own.address} {
		if r.legs[at], err = leg.Listen("tcp4", "127.0.0.1:0", "tcp4", to, nil); err != nil {
			return err
		}
	}
	return nil
}

// door makes the key file and the listener of a worker. up sees the frames that it sends, if it is in this
// process.
func (r *rig) door(name string, up *leg.Tap) (*door, error) {
	file := filepath.Join(r.dir, name+".key")
	if err := os.WriteFile(file, []byte(r.lan.key.Worker().Text()), 0o600); err != nil {
		return nil, err
	}
	d := &door{instance: wire.NewID(), env: []string{names.EnvKeyFile + "=" + file, names.EnvListen + "=127.0.0.1:0", names.EnvPodName + "=" + name, names.EnvPodUID + "=u"}}
	guard, err := secure.NewGuard(r.lan.key.Worker(), "", secure.Answer{Worker: name, UID: "u", Instance: d.instance})
	if err != nil {
		return nil, err
	}
	d.network = &entrance{guard: guard, up: up, door: d}
	return d, nil
}

// entrance is a listener whose connections have a tap on what the worker sends.
type entrance struct {
	guard *secure.Guard
	up    *leg.Tap
	door  *door
	inner *listener.Listener
}

// open listens.
func (e *entrance) open() error {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e.inner, e.door.address = listener.New(ln, e.guard, slog.New(slog.DiscardHandler)), ln.Addr().String()
	return nil
}

// Serve implements session.Network.
func (e *entrance) Serve(ctx context.Context, take func(nc net.Conn, job string, epoch wire.Epoch)) error {
	return e.inner.Serve(ctx, func(nc net.Conn, job string, epoch wire.Epoch) { take(leg.Tapped(nc, e.up), job, epoch) })
}

// Carried implements session.Network.
func (e *entrance) Carried() <-chan struct{} { return e.inner.Carried() }

// through makes the next link of a rig of the pod network pass a leg.
func (r *rig) through(at int) {
	if r.lan != nil {
		r.lan.relayed = at != networkLeg
	}
}

// dialer returns the product's dialer: directly, or through a relay that a tree has chosen.
func (n *lan) dialer(r *rig) link.Dialer {
	n.fell()
	d := &network.Dialer{Launcher: n.launcher, Worker: r.name, UID: "u", Address: func() (string, error) { return r.legs[networkLeg].Addr(), nil }}
	if !n.relayed {
		return d
	}
	t := tree.New(tree.FanOut+1, dialTCP, n.seal)
	n.tree = t
	t.Join(tree.Worker{Name: "relay", UID: "u", Address: r.legs[trunkLeg].Addr()})
	for i := range tree.FanOut - 1 { // workers that nobody dials, so that the next one is behind the relay
		t.Join(tree.Worker{Name: fmt.Sprintf("other-%d", i)})
	}
	t.Join(tree.Worker{Name: r.name, UID: "u", Address: r.legs[laneLeg].Addr()})
	d.Address = func() (string, error) { return r.legs[laneLeg].Addr(), nil }
	d.Connect = func(ctx context.Context, _ string) (net.Conn, error) { return t.Dial(ctx, r.name) }
	return d
}

// seal opens a trunk, as the launcher's fleet does.
func (n *lan) seal(ctx context.Context, w tree.Worker, dial tree.Dial) (io.ReadWriteCloser, error) {
	d := network.Dialer{Launcher: n.launcher.Trunks(), Worker: w.Name, UID: w.UID, Connect: dial, Address: func() (string, error) { return w.Address, nil }}
	return d.Dial(ctx)
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// fell closes the tree of the last link.
func (n *lan) fell() {
	if n.tree != nil {
		n.tree.Close()
		n.tree = nil
	}
}

func (n *lan) close() error {
	n.fell()
	if n.relay == nil {
		return nil
	}
	return n.relay.close()
}

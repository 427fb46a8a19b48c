//go:build linux

package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/network/listener"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/secure"
)

// listenNetwork makes the listener for launchers by the pod network, and writes its address into
// dir. env is the environment of sessions, which has the name of this worker. It returns nil if no
// key was given. instance is that of the server.
func (c Config) listenNetwork(dir string, env []string, instance string) (*listener.Listener, error) {
	if c.KeyFile == "" {
		return nil, nil
	}
	key, err := secure.ReadWorkerKey(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("worker: --key-file: %w", err)
	}
	guard, err := secure.NewGuard(key, c.Job, secure.Answer{Worker: valueOf(env, names.EnvWorker), UID: os.Getenv(names.EnvPodUID), Instance: instance})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	// The keys of connections are in our memory, and ranks have our user id. They must not be able
	// to read it, or to trace us.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("worker: protect the memory of this process: %w", err)
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("worker: --listen=%s: %w", c.Listen, err)
	}
	if err := rundir.SetAddress(dir, ln.Addr().String()); err != nil {
		return nil, errors.Join(fmt.Errorf("worker: %w", err), ln.Close())
	}
	c.Log.Info("awaiting launchers by network too", "address", ln.Addr().String())
	return listener.New(ln, guard, c.Log), nil
}

// valueOf returns the value of a variable in env, or "".
func valueOf(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

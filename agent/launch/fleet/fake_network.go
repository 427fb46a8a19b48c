//go:build linux

package fleet

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/wire"
)

// listen prepares workers that are reached by network: it writes their key.
func (f *Fakes) listen(hello wire.HelloRecord) (err error) {
	if f.network, err = NewNetwork(f.cfg); err != nil || f.network == nil {
		return err
	}
	if err := f.network.prove(hello); err != nil {
		return err
	}
	if err := os.WriteFile(f.keyFile(), []byte(f.network.key.Worker().Text()), 0o600); err != nil {
		return fmt.Errorf("make fake workers: %w", err)
	}
	return nil
}

func (f *Fakes) keyFile() string { return filepath.Join(f.place.Dir, secure.WorkerFile) }

// listening returns the variables of workers that listen for their launcher.
func (f *Fakes) listening() []framework.Var {
	if f.network == nil {
		return nil
	}
	return []framework.Var{{Name: names.EnvKeyFile, Value: f.keyFile()}, {Name: names.EnvListen, Value: "127.0.0.1:0"}}
}

// way returns what dials a worker: by its socket, or at the address that it has written.
func (f *Fakes) way(w *fakeWorker) link.Dialer {
	if f.network == nil {
		return local.Dialer{Path: filepath.Join(w.dir, names.WorkerSocket)}
	}
	return f.network.to(w.Name, w.UID, func() (string, error) {
		address, err := rundir.Address(w.dir)
		if err != nil {
			return "", fmt.Errorf("find the worker's address: %w", err)
		}
		return address, nil
	})
}

//go:build linux

package survey

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Where is the place to look at.
type Where struct {
	Root string   // of the container's files: "/"
	Env  []string // what a session starts with, K=V
	Dir  string   // the sessions' default working directory
}

// path returns a path below the root.
func (w Where) path(name string) string { return filepath.Join(w.Root, name) }

// Take reads the facts that ask wants. Looking up a name ends with ctx.
func Take(ctx context.Context, w Where, ask wire.AskFactsRecord) wire.FactsRecord {
	if ask.Dir != "" {
		w.Dir = ask.Dir
	}
	if w.Dir == "" {
		w.Dir = "/"
	}
	f := wire.FactsRecord{Versions: map[string]string{}}
	w.limits(&f)
	f.Shm, f.Disk = space(w.path("dev/shm")), space(w.Dir)
	f.Devices = w.devices()
	if ask.Versions {
		w.drivers(f.Versions)
		w.libraries(f.Versions)
		w.python(f.Versions, ask.Packages)
	}
	w.program(&f, ask.Command)
	if ask.Address != "" {
		took := lookup(ctx, net.DefaultResolver, ask.Address, wire.LongestLookup*time.Millisecond).Milliseconds()
		f.LookupMillis = &took
	}
	f.NowMillis = time.Now().UnixMilli() // last, so that the caller can bound it by the answer
	return f
}

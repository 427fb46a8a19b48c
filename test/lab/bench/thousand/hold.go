//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
)

// run is one launch that is held and then ended. Times are in seconds, memory in 10^6 bytes.
type run struct {
	Size int
	// Measured from the launcher's start.
	Rendezvous float64 // until all workers have answered the handshake
	Launched   float64 // until the last rank's first line arrives
	LauncherMB float64 // peak until then
	LauncherS  float64 // CPU until then
	ServerS    float64 // CPU of the API server until then
	NodesS     float64 // CPU of the kubelet's side, without its workers, until then
	MachineS   float64 // CPU of all processes on this machine until then

	// Measured during and after the hold.
	Held               float64 // length of the hold
	Streams            float64
	Goroutines         float64 // of the API server, per worker
	ServerMB           float64 // of the API server, per worker
	HeldMB             float64 // of the launcher: peak until the end of the hold
	HoldingCPU         float64 // by the launcher, in cores
	ServerCPU          float64 // by the API server, in cores
	PeakMB             float64 // of the launcher: peak until its end
	Ended              float64 // from the ranks' end to the launcher's
	Requests           float64 // per worker, from start to end
	Redials            int
	RequestsBy         map[string]int
	Before, AtOnce, On measure.Server // the API server's metrics: before, when all had begun, at the end of the hold
}

// hold launches a program that only waits on a number of workers, holds the job, and ends it.
func (w *world) hold(ctx context.Context, size int, span time.Duration) (r run, err error) {
	ctx, cancel := context.WithTimeout(ctx, span+5*time.Minute)
	defer cancel()
	f, err := w.startFarm(ctx, size, 0)
	if err != nil {
		return r, err
	}
	r.Size = size
	if r.Before, err = w.Server(ctx); err == nil {
		err = w.play(ctx, &r, f, span)
	}
	if err != nil {
		f.kill()
		return r, err
	}
	said, err := f.end(size)
	if err == nil && said.Served != size+r.Redials {
		err = fmt.Errorf("%d streams were opened for %d workers and %d redials", said.Served, size, r.Redials)
	}
	return r, err
}

// play runs the launcher.
func (w *world) play(ctx context.Context, r *run, f *farm, span time.Duration) (err error) {
	nodes, err := f.usage()
	if err != nil {
		return err
	}
	busy, err := measure.MachineCPU()
	if err != nil {
		return err
	}
	l, err := w.launch(r.Size, "hold")
	if err != nil {
		return err
	}
	defer l.kill()
	begun, err := l.allBegun(ctx, r.Size)
	if err != nil {
		return err
	}
	r.Launched = begun.Sub(l.began).Seconds()
	all, err := measure.MachineCPU()
	if err != nil {
		return err
	}
	then, err := l.usage()
	if err != nil {
		return err
	}
	on, err := f.usage()
	if err != nil {
		return err
	}
	if r.AtOnce, err = w.Server(ctx); err != nil {
		return err
	}
	r.MachineS = all - busy
	r.LauncherMB, r.LauncherS = then.PeakMB, then.CPUSeconds
	r.ServerS, r.NodesS = r.AtOnce.CPUSeconds-r.Before.CPUSeconds, on.CPUSeconds-nodes.CPUSeconds
	if err := w.stay(ctx, r, l, span); err != nil {
		return err
	}
	ended := time.Now()
	if err := l.release(); err != nil {
		return err
	}
	said, err := l.wait(ctx)
	if err != nil {
		return err
	}
	r.Ended, r.PeakMB = time.Since(ended).Seconds(), l.last.Load().PeakMB
	r.Rendezvous, r.Redials = float64(said.WaitMS)/1000, said.Redials
	if said.Sessions != r.Size {
		return fmt.Errorf("%d sessions on %d workers", said.Sessions, r.Size)
	}
	return w.count(r, l.began)
}

// stay holds the sessions, and measures the launcher and the API server meanwhile.
func (w *world) stay(ctx context.Context, r *run, l *launcher, span time.Duration) error {
	if err := await.Pause(ctx, 2*time.Second); err != nil { // until the launch's garbage and its last requests are done
		return err
	}
	from, err := l.usage()
	if err != nil {
		return err
	}
	server, err := w.Server(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-time.After(span - 2*time.Second):
	case err := <-l.ended:
		l.ended <- err
		return fmt.Errorf("the launcher ended while its ranks waited\n%s", l.lastWords())
	case <-ctx.Done():
		return ctx.Err()
	}
	to, err := l.usage()
	if err != nil {
		return err
	}
	spent := time.Since(began).Seconds()
	if r.On, err = w.Server(ctx); err != nil {
		return err
	}
	n := float64(r.Size)
	r.Held, r.HeldMB = span.Seconds(), to.PeakMB
	r.Streams, r.Goroutines, r.ServerMB = r.On.Streams, (r.On.Goroutines-r.Before.Goroutines)/n, (r.On.Resident-r.Before.Resident)/1e6/n
	r.HoldingCPU, r.ServerCPU = (to.CPUSeconds-from.CPUSeconds)/spent, (r.On.CPUSeconds-server.CPUSeconds)/spent
	return nil
}

// count counts the launcher's requests, including watches and streams. The API server logs each
// request when it has ended.
func (w *world) count(r *run, from time.Time) error {
	all, err := audit.Since(w.Audit, from)
	if err != nil {
		return err
	}
	var ours []audit.Request
	for _, one := range all {
		if strings.HasPrefix(one.UserAgent, "muster-launcher/") && one.Namespace == space {
			ours = append(ours, one)
			if one.Code >= 400 {
				return fmt.Errorf("the API server answered %d: %+v", one.Code, one)
			}
		}
	}
	r.RequestsBy, r.Requests = audit.Count(ours), float64(len(ours))/float64(r.Size)
	return nil
}

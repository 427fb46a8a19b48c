//go:build linux

package launch

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

// cluster is the fleet of a Kubernetes cluster. It is for the run alone.
type cluster struct {
	cfg     config.Config
	kube    *kube
	feed    *feed
	links   *links
	fit     func(working context.Context, ready []rendezvous.Worker) []rendezvous.Worker // leaves out those that may not take part yet
	voice   *console.Voice
	stderr  *os.File
	signals <-chan os.Signal

	waiter *waiter             // of the last wait
	shot   rendezvous.Snapshot // the last that it has heard
}

// gather implements fleet.
func (c *cluster) gather(working context.Context) ([]rendezvous.Worker, error) {
	workers, err := c.await(working, nil)
	if err == nil {
		err = c.cfg.GraceFits(workers)
	}
	return workers, err
}

// await waits for the workers; v are those that an attempt has lost, nil at first.
func (c *cluster) await(working context.Context, v *vacancies) ([]rendezvous.Worker, error) {
	w := &waiter{cfg: c.cfg, links: c.links, feed: c.feed, agent: c.kube.agent, signals: c.signals,
		printer: console.NewPrinter(c.stderr, c.cfg.Quiet, c.cfg.JSONLines())}
	w.board = rendezvous.New(c.cfg.Most(), c.cfg.HopelessAfter)
	w.board.Least = c.cfg.LeastWorkers
	w.board.Namespace, w.board.Selector = c.kube.namespace, c.cfg.WorkerSelector()
	w.board.Containers = rendezvous.Containers{Flag: c.cfg.Container}
	if v != nil {
		w.past = v.past
		w.setPods(v.shot)
	} else if c.cfg.Timeout > 0 {
		c.voice.Say("waiting for %s, %s at most (--timeout)", phrase.Count(c.cfg.Most(), "worker"), phrase.Brief(c.cfg.Timeout))
	}
	workers, err := w.await(working)
	c.shot, c.waiter = w.shot, w
	return workers, err
}

// replace implements fleet.
func (c *cluster) replace(_, working context.Context, v vacancies) ([]rendezvous.Worker, error) {
	workers, err := c.await(working, &v)
	if err != nil {
		return nil, err
	}
	return workers, c.links.prune(workers)
}

// prune takes the links of pods down that are no workers any more.
func (l *links) prune(workers []rendezvous.Worker) error {
	var old []string
	for name := range l.standings() {
		if !slices.ContainsFunc(workers, func(w rendezvous.Worker) bool { return w.Name == name }) {
			old = append(old, name)
		}
	}
	l.forget(old)
	if l.superseded() {
		return failure.New(names.ExitHopeless, "two launchers run for one job: end one of them", "restart: %w", errors.New("the workers are held by a newer launcher"))
	}
	return nil
}

// superseded: the workers are another launcher's now.
func (l *links) superseded() bool {
	for _, s := range l.standings() {
		if kindOf(s.err) == link.Superseded {
			return true
		}
	}
	return false
}

// ready implements fleet.
func (c *cluster) ready(working context.Context) []rendezvous.Worker {
	return c.fit(working, c.waiter.ready(working))
}

// pods implements fleet.
func (c *cluster) pods() <-chan rendezvous.Snapshot { return c.feed.pods }

// hear implements fleet.
func (c *cluster) hear(shot rendezvous.Snapshot) { c.waiter.setPods(shot) }

// seen implements fleet.
func (c *cluster) seen() rendezvous.Snapshot { return c.shot }

// depart implements fleet: the pod's status says it.
func (c *cluster) depart(string) {}

// rehearse implements fleet: faults are never made in a cluster.
func (c *cluster) rehearse(context.Context) {}

// release implements fleet.
func (c *cluster) release() {}

// sweep implements fleet: the kubelets do that.
func (c *cluster) sweep(context.Context) error { return nil }

//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// Cluster is the fleet of a Kubernetes cluster. Only the goroutine of the run may use it.
type Cluster struct {
	Config  config.Config
	Kube    *Kube
	Network *Network // nil: workers are reached by exec
	feed    *feed
	Links   *Links
	Record  *record.Log                                                                  // nil: record nothing
	Fit     func(working context.Context, ready []rendezvous.Worker) []rendezvous.Worker // leaves out workers that may not take part yet
	Barred  func(worker string) bool                                                     // a worker that is not used again; nil: none
	Voice   *console.Voice
	Stderr  *os.File
	Signals <-chan os.Signal
	Seats   *rendezvous.Seats // of a run with spares; nil: no spares

	waiter *waiter             // of the last wait
	shot   rendezvous.Snapshot // the latest snapshot of the last wait
}

// NewCluster completes c.
func NewCluster(c Cluster) *Cluster {
	c.feed = newFeed()
	return &c
}

// Watch follows the pods until ctx ends.
func (c *Cluster) Watch(ctx context.Context) { c.feed.run(ctx, c.Kube.watch(c.Config)) }

// Gather waits until every worker has answered, and returns the workers ranked. It returns an error
// if --grace is longer than their pods have.
func (c *Cluster) Gather(working context.Context) ([]rendezvous.Worker, error) {
	workers, err := c.await(working, nil)
	if err == nil {
		err = c.Config.GraceFits(workers)
	}
	return workers, err
}

// await waits for the workers. v are the workers that an attempt has lost; it is nil at first.
func (c *Cluster) await(working context.Context, v *Vacancies) ([]rendezvous.Worker, error) {
	w := &waiter{cfg: c.Config, links: c.Links, feed: c.feed, record: c.Record, agent: c.Kube.agent, signals: c.Signals, barred: c.Barred,
		printer: console.NewPrinter(c.Stderr, c.Config.Color, c.Config.Quiet, c.Config.JSONLines())}
	w.board = rendezvous.New(c.Config.Most()+c.Config.Spares, c.Config.HopelessAfter)
	w.board.Least, w.board.ByTopology, w.board.Seats = c.Config.LeastWorkers, len(c.Config.RankKeys()) > 0, c.Seats
	w.board.Namespace, w.board.Selector, w.board.Names = c.Kube.Namespace, c.Config.WorkerSelector(), c.Config.Pods
	w.board.Containers = rendezvous.Containers{Flag: c.Config.Container}
	if v != nil {
		w.past = v.Past
		w.setPods(v.Shot)
		c.feed.forget()
	} else if c.Config.Timeout > 0 {
		c.Voice.Say("waiting for %s, %s at most (--timeout)", phrase.Count(c.Config.Most(), "worker"), phrase.Brief(c.Config.Timeout))
	}
	workers, err := w.await(working)
	c.shot, c.waiter = w.shot, w
	if err == nil {
		c.Network.Say(c.Voice, workers)
	}
	return workers, err
}

// Replace waits until lost workers are replaced, and returns all workers. It closes the links of
// pods that are no longer workers.
func (c *Cluster) Replace(_, working context.Context, v Vacancies) ([]rendezvous.Worker, error) {
	workers, err := c.await(working, &v)
	if err != nil {
		return nil, err
	}
	if c.Seats != nil { // spares keep their links
		return workers, c.Links.prune(c.waiter.board.Workers())
	}
	return workers, c.Links.prune(workers)
}

// Reassemble waits until an elastic run has enough workers. Its board knows the minimum.
func (c *Cluster) Reassemble(ctx, working context.Context, v Vacancies) ([]rendezvous.Worker, error) {
	return c.Replace(ctx, working, v)
}

// prune closes the links of pods that are no longer workers.
func (l *Links) prune(workers []rendezvous.Worker) error {
	var old []string
	for name := range l.Standings() {
		if !slices.ContainsFunc(workers, func(w rendezvous.Worker) bool { return w.Name == name }) {
			old = append(old, name)
		}
	}
	l.Forget(old)
	if l.Superseded() {
		return failure.New(names.ExitHopeless, "two launchers run for one job: end one of them", "restart: %w", errors.New("a newer launcher has taken over the workers"))
	}
	return nil
}

// Superseded reports whether another launcher has taken over the workers.
func (l *Links) Superseded() bool {
	for _, s := range l.Standings() {
		if KindOf(s.Err) == link.Superseded {
			return true
		}
	}
	return false
}

// Ready opens links to pods that may take part in an elastic run, and returns the workers that can.
func (c *Cluster) Ready(working context.Context) []rendezvous.Worker {
	return c.Fit(working, c.waiter.ready(working))
}

// Pods returns the channel of the pod watch.
func (c *Cluster) Pods() <-chan rendezvous.Snapshot { return c.feed.pods }

// statusWait is how long a pod's status may take to explain a lost link. OOMKilled is a better
// answer than "the container was restarted".
const statusWait = 5 * time.Second

// StatusWait returns how long a pod's status may take to explain a lost link.
func (c *Cluster) StatusWait() time.Duration { return statusWait }

// Agent returns the path of the agent in the workers.
func (c *Cluster) Agent() string { return c.Kube.agent }

// ByHand returns the line that a user types to run a command on a worker.
func (c *Cluster) ByHand(worker, command string) string {
	if container := c.Links.Standings()[worker].Worker.Container; container != "" {
		worker += " -c " + container
	}
	return fmt.Sprintf("kubectl exec -n %s %s -- %s", c.Config.Namespace, worker, command)
}

// OneMachine returns false, because each pod has an image and limits of its own.
func (c *Cluster) OneMachine() bool { return false }

// Hear takes a snapshot that the caller has received from Pods.
func (c *Cluster) Hear(shot rendezvous.Snapshot) { c.waiter.setPods(shot) }

// Seen returns the latest snapshot of the last wait.
func (c *Cluster) Seen() rendezvous.Snapshot { return c.shot }

// Depart does nothing, because the pod's status says it.
func (c *Cluster) Depart(string) {}

// Rehearse does nothing, because faults are never rehearsed in a cluster.
func (c *Cluster) Rehearse(context.Context) {}

// Release does nothing.
func (c *Cluster) Release() {}

// Sweep does nothing, because the kubelets end what is left.
func (c *Cluster) Sweep(context.Context) error {
	c.Network.Close()
	return nil
}

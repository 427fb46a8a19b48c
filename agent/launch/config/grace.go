package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// ShortGrace returns the grace for work that has no checkpoint to save. Unless the user sets
// --grace, it is never longer than the default, even in a pod with a long grace.
func (c Config) ShortGrace() time.Duration {
	if c.Given("grace") {
		return c.Grace
	}
	return min(c.Grace, Defaults().Grace)
}

// WithNamespace returns c for workers in this namespace.
func (c Config) WithNamespace(name string) Config {
	c.Namespace = name
	return c
}

// WithPodGrace returns c with the grace of the launcher's own pod. period is the pod's termination
// grace period; 0 means that it is unknown. If --grace is longer, WithPodGrace returns an error.
func (c Config) WithPodGrace(period time.Duration) (Config, error) {
	switch {
	case period == 0:
		return c, nil
	case c.Given("grace"):
		return c, c.graceWithin(period, "the launcher's pod")
	}
	c.Grace, c.podsGrace = names.Grace(period), true
	return c, nil
}

// GraceFits returns an error if --grace is longer than a worker's pod has to terminate.
func (c Config) GraceFits(workers []rendezvous.Worker) error {
	if !c.Given("grace") {
		return nil
	}
	for _, w := range workers {
		if err := c.graceWithin(w.Grace, "pod "+w.Name); err != nil {
			return err
		}
	}
	return nil
}

// graceWithin checks the grace against the termination grace period of a pod; 0 means unknown.
func (c Config) graceWithin(period time.Duration, whose string) error {
	if period == 0 || c.Grace <= period {
		return nil
	}
	return failure.Usage(fmt.Sprintf("omit --grace to use %s, or set terminationGracePeriodSeconds: %.0f in the pod's template", phrase.Brief(names.Grace(period)),
		(c.Grace+5*time.Second).Seconds()), "--grace=%s is longer than the %s that %s has to end", phrase.Brief(c.Grace), phrase.Brief(period), whose)
}

// AnswerTime returns how long to wait for something that runs already: an answer of a worker, or a
// process that has to listen. It is limited even if the wait for workers is not.
func (c Config) AnswerTime() time.Duration { return cmp.Or(c.Timeout, Defaults().Timeout) }

// HasPodGrace reports whether the grace is that of the launcher's pod.
func (c Config) HasPodGrace() bool { return c.podsGrace }

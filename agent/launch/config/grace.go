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

// ShortGrace is for what is not worth a pod's whole grace: it serves no checkpoint.
func (c Config) ShortGrace() time.Duration {
	if c.Given("grace") {
		return c.Grace
	}
	return min(c.Grace, Defaults().Grace)
}

// WithNamespace is c for workers in that namespace.
func (c Config) WithNamespace(name string) Config {
	c.Namespace = name
	return c
}

// WithPodGrace is c with the grace of the launcher's own pod, which has period to end; 0: it is
// not known. A --grace that is longer is refused.
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

// GraceFits refuses a --grace that is longer than the time a worker's pod has.
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

// graceWithin judges the grace by the period of a pod; 0 is not known.
func (c Config) graceWithin(period time.Duration, whose string) error {
	if period == 0 || c.Grace <= period {
		return nil
	}
	return failure.Usage(fmt.Sprintf("leave --grace away to use %s, or set terminationGracePeriodSeconds: %.0f in the pod's template", phrase.Brief(names.Grace(period)),
		(c.Grace+5*time.Second).Seconds()), "--grace=%s is longer than the %s that %s has to end", phrase.Brief(c.Grace), phrase.Brief(period), whose)
}

// AnswerTime bounds a wait for something that runs already: an answer of a worker, a process that
// is to listen. It has a limit even where the wait for workers has none.
func (c Config) AnswerTime() time.Duration { return cmp.Or(c.Timeout, Defaults().Timeout) }

// HasPodGrace reports whether the grace is that of the launcher's pod.
func (c Config) HasPodGrace() bool { return c.podsGrace }

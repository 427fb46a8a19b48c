package config

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// Elastic reports whether workers may join and leave while the job runs.
func (c Config) Elastic() bool { return c.LeastWorkers > 0 }

// MayList returns an error if --hostfile may not list workers, because the workers of the run change.
func (c Config) MayList() error {
	const way = "omit --hostfile, or give a path that does not exist yet: that list follows the workers"
	switch {
	case c.Elastic():
		return failure.Usage(way, "--hostfile=%s lists fixed workers, but with --min-workers they join and leave", c.Hostfile)
	case c.Spares > 0:
		return failure.Usage(way, "--hostfile=%s lists fixed workers, but with --spares others may take their places", c.Hostfile)
	}
	return nil
}

// Most returns the maximum number of workers. It returns 0 if no setting gives one.
func (c Config) Most() int {
	switch {
	case c.MostWorkers > 0:
		return c.MostWorkers
	case c.IsFake():
		return c.Fake + c.Coming()
	}
	return c.Workers
}

// Coming returns the number of fake workers that will join.
func (c Config) Coming() int {
	faults, err := ParseFaults(c.FakeFaults, maxFake)
	if err != nil {
		return 0 // validateFake reports the error
	}
	n := 0
	for _, f := range faults {
		if f.Verb == "join" {
			n++
		}
	}
	return n
}

// validateElastic checks --min-workers and --max-workers.
func (c Config) validateElastic() error {
	switch {
	case c.Given("min-workers") && c.LeastWorkers < 1:
		return failure.Usage("--min-workers=2 starts and continues with two", "--min-workers=%d: a run has at least one worker", c.LeastWorkers)
	case c.Given("max-workers") && c.MostWorkers < 1:
		return failure.Usage("--max-workers=5 allows up to five", "--max-workers=%d: a run has at least one worker", c.MostWorkers)
	case c.MostWorkers > 0 && !c.Elastic():
		return failure.Usage("add --min-workers=2; --workers waits for a fixed number", "--max-workers=%d requires --min-workers", c.MostWorkers)
	case !c.Elastic() && c.Coming() > 0:
		return failure.Usage("--min-workers=2 makes it elastic", "--fake-fault join: workers can join only an elastic run")
	case !c.Elastic():
		return nil
	case c.Most() > 0 && c.LeastWorkers > c.Most():
		return failure.Usage("the minimum comes first: --min-workers=2 --max-workers=5", "--min-workers=%d is more than the maximum: %s", c.LeastWorkers, c.mostSaid())
	case c.MostWorkers > 0 && !c.IsFake() && strings.HasPrefix(c.Origin["workers"], "flag") && c.Workers != c.MostWorkers:
		return failure.Usage("omit --workers", "--workers=%d and --max-workers=%d conflict with each other", c.Workers, c.MostWorkers)
	case c.IsFake() && c.Fake+c.Coming() > c.Most():
		return failure.Usage("raise --max-workers, or start fewer workers", "--fake and --fake-fault join start %s, but --max-workers=%d", phrase.Count(c.Fake+c.Coming(), "fake worker"), c.MostWorkers)
	case c.Roles != "":
		return failure.Usage("assign roles by the pods' label training.kubeflow.org/replica-type", "--roles=%s assigns roles to fixed workers, but workers of an elastic run join and leave", c.Roles)
	}
	return nil
}

// mostSaid returns the flag that sets the maximum number of workers.
func (c Config) mostSaid() string {
	switch {
	case c.MostWorkers > 0:
		return "--max-workers=" + strconv.Itoa(c.MostWorkers)
	case c.IsFake():
		return "--fake=" + strconv.Itoa(c.Fake)
	}
	return "--workers=" + strconv.Itoa(c.Workers)
}

// MostElastic returns the maximum number of workers to give to a framework. It returns 0 for a run
// that is not elastic.
func (c Config) MostElastic() int {
	if !c.Elastic() {
		return 0
	}
	return c.Most()
}

package config

import (
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// Fakes returns how many fake workers to start, spares included.
func (c Config) Fakes() int { return c.Fake + c.Spares }

// validateSpares checks --spares. Whatever fixes which worker has which rank excludes spares.
func (c Config) validateSpares() error {
	switch {
	case c.Spares < 0:
		return failure.Usage("--spares=1 keeps one worker in reserve", "--spares=%d: must not be negative", c.Spares)
	case c.Spares == 0:
		return nil
	case c.Elastic():
		return failure.Usage("omit --spares: raise --max-workers, and all workers compute", "--spares=%d cannot be used with --min-workers: an elastic run continues with the workers that are left", c.Spares)
	case c.Roles != "":
		return failure.Usage("omit --spares, or use one role", "--spares=%d cannot be used with --roles=%s: a spare could not take the place of each role", c.Spares, c.Roles)
	case c.Compat != "":
		return failure.Usage("omit --spares, or omit --compat", "--spares=%d cannot be used with --compat=%s: its host names fix which worker has which rank", c.Spares, c.Compat)
	case c.IsFake() && c.Fakes() > maxFake:
		return failure.Usage("start fewer workers", "--fake=%d and --spares=%d are too many workers for one machine", c.Fake, c.Spares)
	case !c.IsFake() && len(c.Pods) > 0 && len(c.Pods) < c.Workers+c.Spares:
		return failure.Usage("name the pods of the spares too", "--pods names %s, but the run needs %d and %d spares: %s", phrase.Count(len(c.Pods), "worker"), c.Workers, c.Spares, strings.Join(c.Pods, ","))
	}
	return nil
}

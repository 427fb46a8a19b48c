package show

import (
	"context"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/rendezvous"
)

// Site is where the workers of a run are: in a cluster, or on this machine.
type Site struct {
	Ground files.Ground
	// List returns the current workers, and opens no links. agent is the path of the agent in the
	// workers. version is our version.
	List func(ctx context.Context, cfg config.Config, agent, version string) ([]rendezvous.Worker, error)
}

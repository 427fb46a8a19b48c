//go:build !linux

package show

import (
	"context"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
)

// imagine needs Linux. Elsewhere it returns an error that names a container to use.
func imagine(_ context.Context, cfg config.Config, _ Site) (plan.Plan, error) {
	return plan.Plan{}, cfg.Elsewhere()
}

//go:build !linux

package show

import (
	"context"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
)

// imagine needs Linux: it says which container to use instead.
func imagine(_ context.Context, cfg config.Config) (plan.Plan, error) {
	return plan.Plan{}, cfg.Elsewhere()
}

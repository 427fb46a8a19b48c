//go:build !linux

package launch

import (
	"context"
	"log/slog"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/names"
)

// Run needs Linux. Elsewhere it returns an error that names a container to use.
func Run(_ context.Context, cfg config.Config, _ console.Streams, _ *slog.Logger) (int, error) {
	if err := cfg.Validate(); err != nil {
		return names.ExitUsage, err
	}
	return names.ExitUsage, cfg.Elsewhere()
}

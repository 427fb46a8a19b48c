//go:build !linux

package launch

import (
	"context"
	"log/slog"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/show"
	"github.com/musterhq/muster/exec/names"
)

// Parts is empty, because Run needs Linux.
type Parts struct{ show.Site }

// OverPods returns empty Parts.
func OverPods() Parts { return Parts{} }

// OverFakes returns empty Parts.
func OverFakes() Parts { return Parts{} }

// WithElastic returns p.
func (p Parts) WithElastic() Parts { return p }

// Run needs Linux. Elsewhere it returns an error that names a container to use.
func Run(_ context.Context, cfg config.Config, _ Parts, _ console.Streams, _ *slog.Logger) (int, error) {
	if err := cfg.Validate(); err != nil {
		return names.ExitUsage, err
	}
	return names.ExitUsage, cfg.Elsewhere()
}

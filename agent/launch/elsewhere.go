//go:build !linux

package launch

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
)

// Run needs Linux: it says which container to use instead.
func Run(_ context.Context, cfg config.Config, _ console.Streams, _ *slog.Logger) (int, error) {
	if err := cfg.Validate(); err != nil {
		return names.ExitUsage, err
	}
	err := elsewhere(cfg)
	return names.ExitUsage, err
}

func imagine(_ context.Context, cfg config.Config) (plan.Plan, error) {
	return plan.Plan{}, elsewhere(cfg)
}

// elsewhere is the one sentence for other systems.
func elsewhere(cfg config.Config) error {
	words := []string{"docker run --rm -v \"$PWD\":/work -w /work musterhq/openmpi agent run"}
	if cfg.IsFake() {
		words = append(words, "--fake="+strconv.Itoa(cfg.Fake))
	}
	words = append(words, "--")
	for _, word := range cfg.Command {
		words = append(words, phrase.Quote(word))
	}
	return failure.Usage(strings.Join(words, " "), "launchers run on linux, this is %s: use a container", runtime.GOOS)
}

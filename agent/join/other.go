//go:build !linux

package join

import (
	"context"
	"errors"

	"github.com/musterhq/muster/exec/names"
)

// Run returns an error, because the member role needs Linux.
func Run(context.Context, Config, func(string, ...any)) (int, error) {
	return names.ExitUsage, errors.New("join: members run on Linux only")
}

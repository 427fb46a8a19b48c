//go:build !linux

package join

import (
	"context"
	"errors"

	"github.com/musterhq/muster/exec/names"
)

// Run is the member role; it needs Linux.
func Run(context.Context, Config, func(string, ...any)) (int, error) {
	return names.ExitUsage, errors.New("join: members run on Linux only")
}

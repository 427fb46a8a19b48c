//go:build !linux

package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Config of the worker role.
type Config struct {
	Job            string
	Slots          int
	Version        string
	Await, Grace   time.Duration
	GraceGiven     bool
	TerminationLog string
	Log            *slog.Logger
}

var errLinux = errors.New("workers run on Linux only")

// Run is the worker role; it needs Linux.
func Run(context.Context, Config) (int, error) { return names.ExitUsage, errLinux }

// Attach is the bridge to PID 1; it needs Linux.
func Attach() error { return errLinux }

// Ready reports whether a worker serves here; it needs Linux.
func Ready() error { return errLinux }

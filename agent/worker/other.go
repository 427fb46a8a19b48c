//go:build !linux

package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Config is the configuration of the worker role.
type Config struct {
	Job             string
	Slots           int
	Version         string
	Await, Grace    time.Duration
	GraceGiven      bool
	TerminationLog  string
	KeyFile, Listen string
	Log             *slog.Logger
}

var errLinux = errors.New("workers run on Linux only")

// Run returns an error, because the worker role needs Linux.
func Run(context.Context, Config) (int, error) { return names.ExitUsage, errLinux }

// Attach returns an error, because the bridge to PID 1 needs Linux.
func Attach() error { return errLinux }

// Ready returns an error, because it needs Linux.
func Ready() error { return errLinux }

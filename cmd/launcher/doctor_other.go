//go:build !linux

package main

import (
	"context"
	"runtime"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/failure"
)

// launcherIsHere reports false: pods run Linux.
func launcherIsHere() bool { return false }

// askLauncher returns an error: no launcher runs here.
func askLauncher() ([]check.Finding, error) { return nil, notHere() }

// workersHere returns nothing: no launcher runs here.
func workersHere() ([]string, bool) { return nil, false }

// workerIsHere returns "": pods run Linux.
func workerIsHere() string { return "" }

func workerHere(context.Context, string) ([]check.Finding, error) { return nil, notHere() }

func fakeHere(context.Context, int) ([]check.Finding, error) { return nil, notHere() }

func notHere() error {
	return failure.Usage("without fake workers it checks a cluster, and works here", "workers run on Linux, and this is %s", runtime.GOOS)
}

//go:build !plugins && !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/exec/names"
)

// withPlugins replaces this process by agent-launcher-plugins if --framework names a plugin. That
// binary, beside this one, is the same program with go-plugin and gRPC. The packages of these alone
// add more than a millisecond to every start.
func withPlugins(c *config.Config) error {
	if !strings.HasPrefix(c.Framework, external.Prefix) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "agent-launcher-plugins")
	err = syscall.Exec(path, append([]string{"agent"}, os.Args[1:]...), os.Environ())
	if errors.Is(err, os.ErrNotExist) {
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("--framework=%s: %s not found", c.Framework, path),
			Way: "build agent-launcher with -tags plugins, and put it there"}
	}
	return &failure.Failure{Code: names.ExitNotRunable, Err: fmt.Errorf("run %s: %w", path, err)}
}

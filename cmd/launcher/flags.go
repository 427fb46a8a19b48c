//go:build !windows

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// flagSets binds a config.Config to flags.
type flagSets struct {
	config config.Config
	groups []group
}

func newFlags() *flagSets {
	f := &flagSets{config: config.Defaults()}
	settingFlags(&f.groups, settings.OfRun, &f.config)
	return f
}

// bind adds the flags to cmd.
func (f *flagSets) bind(cmd *cobra.Command) {
	bindGroups(cmd, f.groups)
}

// resolve completes the Config. A flag takes precedence over its variable, and a variable over the
// default. Errors are usage errors that name the variable.
func (f *flagSets) resolve(cmd *cobra.Command, command []string) (config.Config, error) {
	c := &f.config
	c.Command = command
	c.Origin = map[string]string{}
	environ := os.Environ()
	wrong := failure.UnknownVariable(cmd.CommandPath(), environ, settings.Known())
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		name := settings.Variable(flag.Name)
		value := os.Getenv(name)
		switch {
		case len(flag.Annotations[origin]) > 0:
			c.Origin[flag.Name] = flag.Annotations[origin][0]
		case flag.Changed:
			c.Origin[flag.Name] = "flag --" + flag.Name
		case value != "" && flag.Name != "help" && !failure.IsServiceLink(environ, name, value):
			c.Origin[flag.Name] = "env " + name
			if err := flag.Value.Set(value); err != nil && wrong == nil {
				wrong = &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("%s=%q: want %s", name, value, takes(flag)),
					Way: "it sets --" + flag.Name + "; unset it or give the flag"}
			}
		default:
			c.Origin[flag.Name] = "default"
		}
	})
	c.FakeGiven = c.Origin["fake"] != "default"
	c.CountPods()
	c.Framework = framework.Spelled(c.Framework)
	if wrong == nil {
		wrong = withPlugins(c)
	}
	c.PodName, c.PodUID, c.PodIP = os.Getenv(names.EnvPodName), os.Getenv(names.EnvPodUID), os.Getenv(names.EnvPodIP)
	c.TerminationLog = envOr("MUSTER_TERMINATION_LOG", c.TerminationLog)
	c.MPIDir = envOr("MUSTER_MPI_DIR", c.MPIDir)
	return *c, wrong
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

package launch

import (
	"cmp"
	"math/rand/v2"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/verdict"
)

// launcherFramework is for a command of which nothing is known: it runs in the
// launcher, with an environment in which any mpirun reaches the workers.
const launcherFramework = "mpi"

// auto: nobody named a framework.
func (c Config) auto() bool { return c.Framework == "" || c.Framework == framework.Auto }

// detected is the framework that the command, or the script that it is, says; "" for none.
func (c Config) detected() string {
	return cmp.Or(framework.Detect(c.Command), framework.DetectBelow(c.below()))
}

// below are the words of the launcher that the command starts, where it is a script. With
// --exit=command it is meant to run as it is.
func (c Config) below() []string {
	if c.Exit == verdict.ExitCommand {
		return nil
	}
	return framework.Below(c.Command, framework.Scripts(c.Chdir))
}

// openPlugin makes the framework of a plugin's program.
type openPlugin func(external.Program) framework.Framework

// choose finds the framework by --framework, else by the command. A plugin's is made by open.
func choose(cfg Config, open openPlugin) (framework.Framework, error) {
	f, err := chosen(cfg, open)
	if err != nil || !cfg.DynamicWorkers {
		return f, err
	}
	if f, err = framework.Dynamic(f); err != nil {
		return nil, failure.Usage("TensorFlow has it, with a ps: --framework=tensorflow --roles=ps=1,worker=1 --dynamic-workers", "--dynamic-workers: %w", err)
	}
	return f, nil
}

func chosen(cfg Config, open openPlugin) (framework.Framework, error) {
	name := cfg.Framework
	if cfg.auto() {
		if cfg.Compat == "" && framework.AloneBelow(cfg.below()) {
			words := cfg.below()
			return nil, failure.Usage("give it as the command itself: agent run -- "+strings.Join(words, " "),
				"%s behind a script reaches no workers without --hostfile: the job would run in the launcher alone", words[0])
		}
		name = cmp.Or(cfg.detected(), launcherFramework)
	}
	if strings.HasPrefix(name, external.Prefix) {
		return pluginNamed(cfg, open)
	}
	if cfg.Compat != "" {
		f, err := framework.Compat(cfg.Compat, name)
		if err != nil {
			return nil, failure.Usage("--compat="+framework.KubeflowV1+" gives what that operator gave, for scripts written around it", "%w", err)
		}
		return f, nil
	}
	f, err := framework.Named(name)
	if err != nil {
		return nil, failure.Usage(frameworkHint(name), "%w", err)
	}
	return f, nil
}

// Ports of an attempt are taken from below the kernel's ephemeral ones (32768 and
// up), anew each time: one that was used a minute ago cannot be bound.
const (
	firstPort = 20000
	lastPort  = 30000
)

// anyPort is the port that the user has given, not 0, else one of those for attempts.
func anyPort(given int) int {
	if given != 0 {
		return given
	}
	return firstPort + rand.IntN(lastPort-firstPort+1)
}

// pluginNamed finds the program among --plugin. Errors are *failure.Failure with code 64.
func pluginNamed(cfg Config, open openPlugin) (framework.Framework, error) {
	program, err := external.Find(cfg.Plugins, strings.TrimPrefix(cfg.Framework, external.Prefix))
	if err != nil {
		return nil, failure.Usage("--plugin NAME=/path/of/program@sha256:HEX, with the HEX that sha256sum prints", "%w", err)
	}
	if cfg.OpenPlugin == nil {
		return nil, failure.Usage("agent-launcher-plugins has them", "this launcher has no plugins")
	}
	return open(program), nil
}

// frameworkHint is for a name that no framework has.
func frameworkHint(name string) string {
	if like := failure.Nearest(name, framework.Names()); like != "" {
		return "did you mean --framework=" + like + "?"
	}
	return "without --framework it is found by the command; --framework=plain starts the command on every worker"
}

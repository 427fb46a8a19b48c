package config

import (
	"cmp"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
)

// Choose returns the framework that --framework names, or else the one that the command implies.
// open makes the framework of a plugin. Errors are *failure.Failure.
func Choose(cfg Config, open MakePlugin) (framework.Framework, error) {
	f, err := chosen(cfg, open)
	if err != nil || !cfg.DynamicWorkers {
		return f, err
	}
	if f, err = framework.Dynamic(f); err != nil {
		return nil, failure.Usage("use it with TensorFlow and a ps: --framework=tensorflow --roles=ps=1,worker=1 --dynamic-workers", "--dynamic-workers: %w", err)
	}
	return f, nil
}

func chosen(cfg Config, open MakePlugin) (framework.Framework, error) {
	name := cfg.Framework
	if cfg.Auto() {
		if cfg.Compat == "" && framework.AloneBelow(cfg.Below()) {
			words := cfg.Below()
			return nil, failure.Usage("run it directly as the command: agent run -- "+strings.Join(words, " "),
				"%s in a script reaches no workers without --hostfile: the job would run only in the launcher", words[0])
		}
		name = cmp.Or(cfg.Detected(), launcherFramework)
	}
	if strings.HasPrefix(name, external.Prefix) {
		return pluginNamed(cfg, open)
	}
	if cfg.Compat != "" {
		f, err := framework.Compat(cfg.Compat, name)
		if err != nil {
			return nil, failure.Usage("--compat="+framework.KubeflowV1+" reproduces that operator's environment, for scripts that rely on it", "%w", err)
		}
		return f, nil
	}
	f, err := framework.Named(name)
	if err != nil {
		return nil, failure.Usage(frameworkHint(name), "%w", err)
	}
	return f, nil
}

// pluginNamed finds the program among --plugin. Errors are *failure.Failure with code 64.
func pluginNamed(cfg Config, open MakePlugin) (framework.Framework, error) {
	program, err := external.Find(cfg.Plugins, strings.TrimPrefix(cfg.Framework, external.Prefix))
	if err != nil {
		return nil, failure.Usage("--plugin NAME=/path/of/program@sha256:HEX, with the HEX that sha256sum prints", "%w", err)
	}
	if cfg.OpenPlugin == nil {
		return nil, failure.Usage("use agent-launcher-plugins", "this launcher does not support plugins")
	}
	return open(program), nil
}

// frameworkHint returns the hint for a name that no framework has.
func frameworkHint(name string) string {
	return failure.Meant("--framework=", name, framework.Names(), "without --framework it is detected from the command; --framework=plain starts the command on every worker")
}

// MakePlugin makes a framework from a plugin's program.
type MakePlugin func(external.Program) framework.Framework

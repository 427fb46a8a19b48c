package failure

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// foreign lists the spellings of other launchers and tools, and the flags that mean the same here,
// the most likely first. Only flags that the verb has are suggested.
func foreign() map[string][]string {
	workers := []string{"workers"}
	perWorker := []string{"procs-per-worker", "slots", "gpus"}
	hosts := []string{"hostfile", "pods", "selector"}
	dir := []string{"chdir", "working-dir"}
	restarts := []string{"max-restarts"}
	return map[string][]string{
		// mpirun, mpiexec, srun, torchrun, accelerate, horovodrun, deepspeed
		"np": workers, "n": workers, "c": workers, "nproc": workers, "nprocs": workers, "ntasks": workers, "num-proc": workers, "num-procs": workers,
		"num-processes": workers, "world-size": workers, "procs": workers, "ranks": workers,
		"nnodes": workers, "nodes": workers, "N": workers, "num-nodes": workers, "num-machines": workers, "num-workers": workers, "nworkers": workers,
		"replicas": workers, "size": workers,
		"nproc-per-node": perWorker, "nprocs-per-node": perWorker, "procs-per-node": perWorker, "ntasks-per-node": perWorker, "num-gpus": perWorker, "npernode": perWorker,
		"ppn": perWorker, "perhost": perWorker, "gpus-per-node": perWorker, "tasks-per-node": perWorker, "slots-per-worker": perWorker, "slots-per-host": perWorker,
		"hosts": hosts, "host": hosts, "H": hosts, "nodelist": hosts, "w": hosts, "machinefile": hosts, "machine-file": hosts, "f": hosts, "host-file": hosts, "include": hosts,
		"min-nodes": {"min-workers"}, "min-np": {"min-workers"}, "max-nodes": {"max-workers"}, "max-np": {"max-workers"},
		"master-port": {"port"}, "rdzv-endpoint": {"coordinator", "port"}, "master-addr": {"coordinator", "interface"}, "network-interface": {"interface"},
		"x": {"env"}, "genv": {"env"}, "export": {"env"}, "envs": {"env"}, "environment": {"env"}, "D": dir, "wdir": dir, "wd": dir, "cwd": dir, "workdir": dir,
		"working-directory": dir, "work-dir": dir,
		"retries": restarts, "retry": restarts, "max-retries": restarts, "backoff-limit": restarts, "restarts": restarts,
		"tag-output": {"output", "rank-tags"}, "prepend-rank": {"output", "rank-tags"}, "l": {"selector", "output"}, "label-output": {"output"}, "output-filename": {"output"},
		"time": {"timeout", "active-deadline"}, "t": {"timeout", "active-deadline"}, "wait-timeout": {"timeout"}, "start-timeout": {"timeout"},
		"local": {"fake"}, "simulate": {"fake"}, "standalone": {"fake"}, "dryrun": {"dry-run"}, "just-print": {"dry-run"},
		"backend": {"framework"}, "launcher-type": {"framework"}, "debug": {"log-level"}, "silent": {"quiet"},
		// kubectl, docker, arena
		"ns": {"namespace"}, "kube-context": {"context"}, "kube-config": {"kubeconfig"}, "job-name": {"job", "name"}, "service-account": {"selector"},
		"labels": {"label", "selector"}, "image-name": {"image"}, "gpu": {"gpus"}, "mem": {"memory"}, "volume": {"data"}, "running-timeout": {"active-deadline"},
		"clean-task-policy": {"clean-pods"}, "watch": {"follow", "wait"}, "lines": {"tail"}, "file": {"filename"}, "all-pods": {"all"}, "age": {"older-than"},
	}
}

// Flag returns the known flag that typed was meant for, or "" if none is likely. typed may have
// leading dashes. Flag recognizes typing errors, prefixes, underscores in place of dashes, and the
// names that other launchers use.
func Flag(typed string, known []string) string {
	typed = strings.ReplaceAll(strings.TrimLeft(typed, "-"), "_", "-")
	if slices.Contains(known, typed) {
		return typed
	}
	for _, name := range foreign()[typed] {
		if slices.Contains(known, name) {
			return name
		}
	}
	if len(typed) < 2 {
		return ""
	}
	var begins []string
	for _, name := range known {
		if strings.HasPrefix(name, typed) {
			begins = append(begins, name)
		}
	}
	if len(begins) == 1 {
		return begins[0]
	}
	return Nearest(typed, known)
}

// FlagHint returns the hint for an unknown flag of a command such as "agent run".
func FlagHint(command, typed string, known []string) string {
	way := command + " --help lists the flags"
	if like := Flag(typed, known); like != "" {
		return "did you mean --" + like + "? " + way
	}
	return way
}

// ParseFlags parses the flags of a command that takes no other words. It rejects unknown MUSTER_
// variables; own are those of the command. The error is flag.ErrHelp or a *Failure. ParseFlags
// prints nothing.
func ParseFlags(command string, set *flag.FlagSet, args []string, own ...string) error {
	set.SetOutput(io.Discard) // package flag would print the whole help with each error
	err := set.Parse(args)
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if err == nil {
		return UnknownVariable(command, os.Environ(), append(names.TestVariables(), own...))
	}
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return OfFlags(command, set, err)
}

// OfFlags returns the Failure for an error of set.Parse. An unknown flag gets a hint; for a wrong
// value the message says what is valid.
func OfFlags(command string, set *flag.FlagSet, err error) *Failure {
	way := command + " --help lists the flags"
	var value, name string
	if n, _ := fmt.Sscanf(err.Error(), "invalid value %q for flag -%s", &value, &name); n == 2 {
		if wrong := set.Lookup(strings.TrimSuffix(name, ":")); wrong != nil && Takes(wrong) != "" {
			err = fmt.Errorf("--%s=%q: want %s", wrong.Name, value, Takes(wrong))
		}
	}
	if typed, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: "); ok {
		var known []string
		set.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		err, way = fmt.Errorf("unknown flag: %s", typed), FlagHint(command, typed, known)
	}
	return &Failure{Code: names.ExitUsage, Err: err, Way: way}
}

// DashesAsValue returns an error for a flag of a parsed set that has taken the -- before the command as its
// value, as in `--report -- mpirun`.
func DashesAsValue(set *flag.FlagSet) (err error) {
	set.Visit(func(f *flag.Flag) {
		if f.Value.String() == "--" {
			err = fmt.Errorf("--%s: missing value, want %s", f.Name, cmp.Or(Takes(f), "a value"))
		}
	})
	return err
}

// Takes describes the values that a flag accepts, for a message about a wrong one: "a time, as in
// --grace=90s, 10m or 1h". It describes numbers and times, and returns "" for other types.
func Takes(f *flag.Flag) string {
	getter, _ := f.Value.(flag.Getter)
	if getter == nil {
		return ""
	}
	switch getter.Get().(type) {
	case int, int64, uint, uint64:
		return "a number, as in --" + f.Name + "=4"
	case time.Duration:
		return "a time, as in --" + f.Name + "=90s, 10m or 1h"
	}
	return ""
}

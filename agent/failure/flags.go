package failure

import (
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

// foreign lists spellings of other launchers and tools, and the flags that mean
// the same here, the likeliest first. Only a flag that the verb has is suggested.
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

// Flag is the flag among known that typed, without its dashes, is meant for; ""
// when none is likely. It knows slips of the pen, beginnings, underscores for
// dashes, and what other launchers call the same thing.
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
	const short = 4 // letters: two slips make any of them any other
	if like := Nearest(typed, known); len(typed) > short || slips(typed, like) == 1 {
		return like
	}
	return ""
}

// FlagHint is the way out of an unknown flag of a command such as "agent run".
func FlagHint(command, typed string, known []string) string {
	way := command + " --help lists the flags"
	if like := Flag(typed, known); like != "" {
		return "did you mean --" + like + "? " + way
	}
	return way
}

// ParseFlags parses the flags of a command that takes no other words, and refuses
// MUSTER_ variables other than its own. The error is flag.ErrHelp or a *Failure;
// nothing is printed.
func ParseFlags(command string, set *flag.FlagSet, args []string, own ...string) error {
	set.SetOutput(io.Discard) // package flag would print all of the help with a mistake
	err := set.Parse(args)
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("it takes flags only, and got %q", set.Arg(0))
	}
	if err == nil {
		return UnknownVariable(command, os.Environ(), append(names.TestVariables(), own...))
	}
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return OfFlags(command, set, err)
}

// OfFlags is the Failure of an error of set.Parse: an unknown flag gets a hint, and of a wrong
// value it says what is right.
func OfFlags(command string, set *flag.FlagSet, err error) *Failure {
	way := command + " --help lists the flags"
	var value, name string
	if n, _ := fmt.Sscanf(err.Error(), "invalid value %q for flag -%s", &value, &name); n == 2 {
		if wrong := set.Lookup(strings.TrimSuffix(name, ":")); wrong != nil && Takes(wrong) != "" {
			err = fmt.Errorf("--%s=%q: it takes %s", wrong.Name, value, Takes(wrong))
		}
	}
	if typed, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: "); ok {
		var known []string
		set.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		err, way = fmt.Errorf("unknown flag: %s", typed), FlagHint(command, typed, known)
	}
	return &Failure{Code: names.ExitUsage, Err: err, Way: way}
}

// Takes says what the value of a flag looks like, for a message about one that does not: "a time,
// as in --grace=90s, 10m or 1h". It knows numbers and times, "" for others.
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

package framework

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// belowTorch returns the variables for a torchrun that a script of the process may start. torchrun
// reads each option from PET_<OPTION>, and without these variables it would form a group of its
// own. If a worker has several processes, each of them may have a torchrun with one rank.
func belowTorch(c Cluster, master Node, r rank) []Var {
	nproc := 1
	if r.local == 1 {
		nproc = c.procsOn(r.node)
	}
	return []Var{
		{Name: "PET_NNODES", Value: strconv.Itoa(r.size), Why: "for a torchrun behind a script: number of workers"},
		{Name: "PET_NODE_RANK", Value: strconv.Itoa(r.Rank), Why: "for a torchrun behind a script: index of this worker"},
		{Name: "PET_NPROC_PER_NODE", Value: strconv.Itoa(nproc), Why: "for a torchrun behind a script: number of processes that it starts"},
		{Name: "PET_MASTER_ADDR", Value: master.address(), Why: "for a torchrun behind a script: address of the worker with rank 0, where the ranks connect"},
		{Name: "PET_MASTER_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "for a torchrun behind a script: a port that only this attempt uses"},
		{Name: "PET_REDIRECTS", Value: "0", Default: true, Why: "torch 1.13 under Python 3.11 cannot read its own default"},
		{Name: "PET_TEE", Value: "0", Default: true, Why: "torch 1.13 under Python 3.11 cannot read its own default"},
		{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1", Default: true, Why: "otherwise ranks of a new attempt read the addresses of the previous attempt"},
	}
}

// hides reports whether the command may start a torchrun that Muster cannot see. Scripts may do so,
// except for Python scripts, which usually train as a rank themselves.
func (c Cluster) hides() bool {
	path, text := Script(c.Command)
	return len(c.Workers) > 1 && path == "" && text == ""
}

// lone returns an error for a launcher that would form a separate group on each of several workers,
// whatever the environment says.
func (c Cluster) lone() error {
	cmd, words := recognise(c.Command), c.Command
	if cmd.launcher == "" {
		cmd, words = ofBelow(c.Below), c.Below
	}
	if len(c.Workers) < 2 || cmd.framework == "" {
		return nil
	}
	if AloneBelow(c.Below) {
		return fmt.Errorf("%s in a script would start a separate job on each of the %d workers: run it directly as the command, -- %s ...", cmd.framework, len(c.Workers), words[0]) //nolint:staticcheck // ST1005: ... stands for the rest of the command
	}
	options := optionsOf(words[cmd.options:])
	said := ""
	switch cmd.launcher {
	case byTorchrun:
		said = loneTorchrun(options, c.Fake)
	case byAccelerate:
		if n := options["num_machines"]; n == "1" && !c.noGPU() {
			said = "--num_machines=1"
		}
	}
	if said == "" {
		return nil
	}
	return fmt.Errorf("%s %s would start a separate job on each of the %d workers: omit it, because the environment configures the workers", cmd.launcher, said, len(c.Workers))
}

// LoneIn returns the name of the launcher that runs in a process, if it forms a group of its own in
// a job of several workers, or "". Such a launcher is a torchrun with an option that does this, or
// one that no variable tells of the others. The name includes the option. env is K=V; nil means not
// known.
func LoneIn(argv, env []string) string {
	words := withoutInterpreter(argv)
	cmd := recognise(words)
	if cmd.launcher != byTorchrun {
		return ""
	}
	options := optionsOf(words[cmd.options:])
	if said := loneTorchrun(options, false); said != "" {
		return cmd.launcher + " " + said
	}
	told := env == nil || options["nnodes"] != "" || slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PET_NNODES=") })
	if told || slices.ContainsFunc(words, asksForHelp) {
		return ""
	}
	return cmd.launcher
}

// loneTorchrun returns the option that keeps torchrun to its own worker, or "".
func loneTorchrun(options map[string]string, fake bool) string {
	if _, ok := options["standalone"]; ok {
		return "--standalone"
	}
	if n := options["nnodes"]; n == "1" || n == "1:1" {
		return "--nnodes=" + n
	}
	for _, name := range []string{"rdzv_endpoint", "master_addr"} {
		host, port, err := net.SplitHostPort(options[name])
		if err != nil {
			host = options[name]
		}
		if ip := net.ParseIP(host); (host == "localhost" || ip != nil && ip.IsLoopback()) && (!fake || port == "0") {
			return "--" + name + "=" + options[name]
		}
	}
	return ""
}

// optionsOf reads the options of a launcher before its script, with "_" in place of "-" in their
// names. A flag has the value "".
func optionsOf(words []string) map[string]string {
	flags := map[string]bool{"standalone": true, "no_python": true, "module": true, "m": true, "run_path": true, "use_env": true}
	options := map[string]string{}
	for i := 0; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		name = strings.ReplaceAll(name, "-", "_")
		if !given && !flags[name] && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value = words[i]
		}
		options[name] = value
	}
	return options
}

package hosts

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Port is the first port of the runs. It is below the ports that launchers choose.
const Port = 18000

// Answer is the port, in the block of the runs, for dialing a host without a port. It is also where processes meet.
const Answer = Port + 900

// Ports returns the ports on which every host answers: the rendezvous ports, the processes' own ports, and Answer.
func Ports() []int {
	ports := []int{Answer, Port, Port + 1}
	for i := range 16 {
		ports = append(ports, Port+100+i)
	}
	return ports
}

var (
	//go:embed testdata/seen.py
	seen string
	//go:embed testdata/listen.py
	listen string
	//go:embed testdata/dial.py
	dial string
)

// Programs returns the files of a directory that must be first in PATH and in PYTHONPATH.
func Programs() map[string]string {
	files := map[string]string{"listen.py": listen, "dial.py": dial, "paddle/distributed/launch.py": seen}
	for _, name := range []string{"seen.py", "torchrun", "accelerate", "horovodrun", "deepspeed", "ray"} {
		files[name] = seen
	}
	return files
}

// Expected returns the workers that a host may be, for a process on worker own.
type Expected func(own int) []int

func own(own int) []int { return []int{own} }
func every(int) []int   { return []int{0, 1, 2} }

func these(workers ...int) Expected { return func(int) []int { return workers } }

// andOwn returns w with the process's own worker added.
func (w Expected) andOwn() Expected {
	return func(own int) []int {
		list := append(slices.Clone(w(own)), own)
		slices.Sort(list)
		return slices.Compact(list)
	}
}

// Want is one variable, or one option of the command, that contains hosts.
type Want struct {
	Name  string // "MASTER_ADDR", "--master_addr"
	Who   Expected
	Port  string // the variable or option that has its port; "": the port follows the host, or there is none
	Slots bool   // the number after a host is its number of slots
	Only  []int  // workers whose processes have it; nil: all
	Rare  bool   // some processes do not have it
}

// Case is one way to use a framework, with three workers.
type Case struct {
	Name, Framework string
	Flags           []string
	Command         []string
	Processes       int // on the workers; 0: one process in the launcher
	Wants           []Want
}

// Argv returns the command line of `agent`, with the flags place. dir has the Programs.
func (c Case) Argv(dir string, place ...string) []string {
	argv := []string{"run", "--framework=" + c.Framework, fmt.Sprintf("--port=%d", Port), "--output=plain", "--env=HOSTS_CASE=" + c.Name}
	if c.Processes == 0 { // a stand-in for a command that stays in the launcher
		argv = slices.DeleteFunc(argv, func(word string) bool { return word == "--output=plain" })
		argv = append(argv, "--exit=command")
	}
	argv = slices.Concat(argv, c.Flags, place, []string{"--"})
	for _, word := range c.Command {
		argv = append(argv, strings.ReplaceAll(word, "{dir}", dir))
	}
	return argv
}

// Meeting returns the flag that makes the processes of a case wait for each other at the listener of address.
func (c Case) Meeting(address string) string {
	return fmt.Sprintf("--env=HOSTS_MEET=%s:%d %d", address, Answer, c.Processes)
}

// hostfiles returns the variables that every command in the launcher gets.
func hostfiles() []Want {
	return []Want{
		{Name: "OMPI_MCA_orte_default_hostfile", Who: every}, {Name: "PRTE_MCA_prte_default_hostfile", Who: every},
		{Name: "HYDRA_HOST_FILE", Who: every, Slots: true}, {Name: "I_MPI_HYDRA_HOST_FILE", Who: every, Slots: true},
	}
}

// Cases returns all cases. A variable that a case does not list must not contain a host.
func Cases() []Case {
	script := []string{"python3", "-u", "{dir}/seen.py"}
	files := hostfiles()
	first := these(0)
	master := Want{Name: "MASTER_ADDR", Who: first, Port: "MASTER_PORT"}
	below := Want{Name: "PET_MASTER_ADDR", Who: first, Port: "PET_MASTER_PORT"} // for a torchrun that a script starts
	return []Case{
		{Name: "mpi", Framework: "mpi", Command: script, Wants: files},
		{Name: "openmpi", Framework: "openmpi", Command: script, Wants: files[:2]},
		{Name: "mpich", Framework: "mpich", Command: script, Wants: files[2:3]},
		{Name: "intelmpi", Framework: "intelmpi", Command: script, Wants: files[3:]},
		{Name: "horovod", Framework: "horovod", Command: []string{"horovodrun", "--gloo", "python3", "train.py"},
			Wants: append(slices.Clone(files), Want{Name: "-H", Who: every, Slots: true})},
		{Name: "horovod-elastic", Framework: "horovod", Flags: []string{"--min-workers=2"}, Command: []string{"horovodrun", "python3", "train.py"},
			Wants: append(slices.Clone(files), Want{Name: "--host-discovery-script", Who: every, Slots: true})},
		{Name: "deepspeed", Framework: "deepspeed", Command: []string{"deepspeed", "train.py"},
			Wants: append(slices.Clone(files), Want{Name: "--hostfile", Who: every}, Want{Name: "--master_addr", Who: first, Port: "--master_port"})},
		{Name: "deepspeed-script", Framework: "deepspeed", Command: script, Processes: 3, Wants: []Want{master, below}},
		{Name: "plain", Framework: "plain", Command: script, Processes: 3, Wants: []Want{master, below, {Name: "MUSTER_ADDRESSES", Who: every}}},
		{Name: "torch", Framework: "torch", Flags: []string{"--procs-per-worker=2"}, Command: script, Processes: 6, Wants: []Want{master, below}},
		{Name: "torch-master", Framework: "torch", Flags: []string{"--roles=worker=2,master=1"}, Command: script, Processes: 3,
			Wants: []Want{{Name: "MASTER_ADDR", Who: these(2), Port: "MASTER_PORT"}, {Name: "PET_MASTER_ADDR", Who: these(2), Port: "PET_MASTER_PORT"}}},
		{Name: "torchrun", Framework: "torch", Command: []string{"torchrun", "train.py"}, Processes: 3,
			Wants: []Want{below}},
		{Name: "torchrun-elastic", Framework: "torch", Flags: []string{"--min-workers=2"}, Command: []string{"torchrun", "train.py"}, Processes: 3,
			Wants: []Want{{Name: "PET_RDZV_ENDPOINT", Who: first}, {Name: "PET_LOCAL_ADDR", Who: own}}},
		{Name: "accelerate", Framework: "torch", Command: []string{"accelerate", "launch", "train.py"}, Processes: 3,
			Wants: []Want{master, {Name: "--main_process_ip", Who: first, Port: "--main_process_port"}}},
		{Name: "tensorflow", Framework: "tensorflow", Flags: []string{"--roles=ps=1,worker=1,chief=1"}, Command: script, Processes: 3,
			Wants: []Want{{Name: "TF_CONFIG", Who: every}}},
		{Name: "tensorflow-sparse", Framework: "tensorflow", Flags: []string{"--dynamic-workers", "--roles=ps=1,worker=2"}, Command: script, Processes: 3,
			Wants: []Want{{Name: "TF_CONFIG", Who: first.andOwn()}}},
		{Name: "jax", Framework: "jax", Flags: []string{"--procs-per-worker=2"}, Command: script, Processes: 6,
			Wants: []Want{{Name: "JAX_COORDINATOR_ADDRESS", Who: first}}},
		{Name: "paddle", Framework: "paddle", Flags: []string{"--procs-per-worker=2"}, Command: script, Processes: 6, Wants: []Want{
			{Name: "PADDLE_CURRENT_ENDPOINT", Who: own}, {Name: "PADDLE_TRAINER_ENDPOINTS", Who: every}, {Name: "PADDLE_MASTER", Who: first}}},
		{Name: "paddle-launch", Framework: "paddle", Command: []string{"python3", "-m", "paddle.distributed.launch", "train.py"}, Processes: 3,
			Wants: []Want{{Name: "PADDLE_MASTER", Who: first}, {Name: "POD_IP", Who: own}}},
		{Name: "paddle-servers", Framework: "paddle", Flags: []string{"--roles=ps=1,trainer=2"}, Command: script, Processes: 3, Wants: []Want{
			{Name: "PADDLE_PSERVERS_IP_PORT_LIST", Who: first}, {Name: "PADDLE_TRAINER_ENDPOINTS", Who: these(1, 2)},
			{Name: "POD_IP", Who: own, Port: "PADDLE_PORT"}}},
		{Name: "xgboost", Framework: "xgboost", Command: script, Processes: 3,
			Wants: []Want{{Name: "DMLC_TRACKER_URI", Who: first, Port: "DMLC_TRACKER_PORT"}}},
		{Name: "lightgbm", Framework: "lightgbm", Flags: []string{"--procs-per-worker=2"}, Command: script, Processes: 6,
			Wants: []Want{{Name: "LIGHTGBM_MACHINES", Who: every}}},
		{Name: "mxnet", Framework: "mxnet", Command: script, Processes: 7, Wants: []Want{
			{Name: "DMLC_PS_ROOT_URI", Who: first, Port: "DMLC_PS_ROOT_PORT"}, {Name: "DMLC_NODE_HOST", Who: own}}},
		{Name: "ray", Framework: "ray", Command: script, Processes: 4, Wants: []Want{
			{Name: "RAY_ADDRESS", Who: first, Only: []int{0}, Rare: true}, {Name: "--node-ip-address", Who: own, Rare: true},
			{Name: "--address", Who: first, Only: []int{1, 2}}}},
	}
}

// Endpoints returns the endpoints to dial, without duplicates.
func Endpoints(found []Found) (list []string) {
	for _, f := range found {
		list = append(list, f.Endpoints...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Judge checks the answers that dial.py got on worker from, and returns what is wrong. That is a host that does not
// resolve or answer, a host that is not the expected worker, or an expected worker that is not named.
func Judge(found []Found, from string, answers map[string]string) (wrong []string) {
	for _, f := range found {
		var met []string
		for _, e := range f.Endpoints {
			who := answers[e]
			switch {
			case who == "" || strings.HasPrefix(who, "error: "):
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s from %s: %q", f.Case, f.Name, f.Process, e, from, who))
			case !slices.Contains(f.Workers, who):
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s is %s, seen from %s, and %s is meant", f.Case, f.Name, f.Process, e, who, from, strings.Join(f.Workers, " or ")))
			}
			met = append(met, who)
		}
		for _, w := range f.Workers {
			if !slices.Contains(met, w) {
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s is not in it: %s", f.Case, f.Name, f.Process, w, strings.Join(f.Endpoints, " ")))
			}
		}
	}
	return wrong
}

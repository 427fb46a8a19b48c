//go:build mpi && care

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
)

// careWay is a way to stop a run. The ranks of all its workers save.
type careWay struct {
	name    string
	verb    string
	workers int
	flags   []string
	stop    func(t *testing.T, j *job) // nil: Ctrl-C on a terminal
	code    int
}

func careWays() []careWay {
	worker := func(t *testing.T, j *job) { require.NoError(t, syscall.Kill(j.worker(t), syscall.SIGTERM)) }
	send := func(sig syscall.Signal) func(*testing.T, *job) { return func(_ *testing.T, j *job) { j.signal(sig) } }
	return []careWay{
		{"TERM", "run", 2, []string{"--fake=2"}, send(syscall.SIGTERM), 143},
		{"INT", "run", 2, []string{"--fake=2"}, send(syscall.SIGINT), 130},
		{"Ctrl-C", "run", 2, []string{"--fake=2"}, nil, 130},
		{"drain", "run", 1, []string{"--fake=1", "--slots=2"}, worker, 0},
		{"drain of one", "run", 2, []string{"--fake=2"}, worker, 0},
		{"scale-down", "run", 2, []string{"--fake=2", "--min-workers=1"}, worker, 0},
		{"join", "join", 1, []string{"--workers=1"}, send(syscall.SIGTERM), 0},
	}
}

// framework is the Python of an environment that `make frameworks` has made.
func framework(name string) (python, missing string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err.Error()
	}
	found, err := filepath.Glob(filepath.Join(home, ".cache", "muster", "frameworks", name+"-*", "bin", "python"))
	if err != nil || len(found) == 0 {
		return "python", name + " is not installed (make frameworks-ci)"
	}
	return found[0], ""
}

func carePrograms(t *testing.T) []care.Program {
	const python = "/usr/bin/python3"
	at := care.Tools{Python: python, Numactl: "numactl", Missing: map[string]string{}}
	at.Torch, at.Missing["torch"] = framework("torch")
	at.JAX, at.Missing["jax"] = framework("jax")
	if _, err := os.Stat("/usr/bin/numactl"); err != nil {
		at.Missing["numactl"] = "numactl is not installed"
	}
	all, mpis := care.Programs(at), mpiruns(t)
	for _, name := range []string{"openmpi4", "openmpi5", "mpich40", "mpich42", "intel"} {
		all = append(all, care.MPI(name, mpis[name], python))
	}
	return all
}

// careRanks is how many ranks save.
func careRanks(p care.Program, w careWay) int {
	if p.Framework == "" {
		return 2
	}
	return p.Each * w.workers
}

// careLacks says why there is no such cell; "": there is one.
func careLacks(p care.Program, w careWay) string {
	if p.Framework == "" && w.verb == "join" {
		return "MPI has a launcher"
	}
	return p.Missing
}

// TestCareStops: however a run is stopped and whatever its ranks are, each writes its
// checkpoint, and nothing is left. It prints the table.
func TestCareStops(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, care.Lay(dir))
	sources := dir + "/"
	programs, ways := carePrograms(t), careWays()
	var mu sync.Mutex
	cells := map[string]string{}
	t.Run("cells", func(t *testing.T) {
		for _, p := range programs {
			for _, w := range ways {
				cell := p.Name + "|" + w.name
				cells[cell] = "-"
				if careLacks(p, w) != "" {
					continue
				}
				t.Run(p.Name+"/"+w.name, func(t *testing.T) {
					cells[cell] = "0/1" // before any cell is played
					t.Parallel()
					careCell(t, p, w, sources)
					mu.Lock()
					defer mu.Unlock()
					cells[cell] = "1/1"
				})
			}
		}
	})
	printCare(t, programs, ways, cells)
}

// careCell plays a cell.
func careCell(t *testing.T, p care.Program, w careWay, sources string) {
	dir := t.TempDir()
	argv := append([]string{"agent", w.verb, "--grace=60s", "--chdir", dir}, w.flags...)
	if p.Framework != "" {
		argv = append(argv, "--framework="+p.Framework)
	}
	argv = append(argv, "--")
	for _, word := range p.Command {
		argv = append(argv, strings.ReplaceAll(word, "@", sources))
	}
	c, stop := call{argv: argv}, w.stop
	if stop == nil {
		theirs, keys := terminal(t)
		c.stdin = theirs
		stop = func(t *testing.T, _ *job) {
			_, err := keys.WriteString(ctrlC)
			require.NoError(t, err)
		}
	}
	j := start(t, c)
	for rank := range careRanks(p, w) {
		require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "rank %d: %s", rank, j.err)
	}
	asked := time.Now()
	stop(t, j)
	o := j.wait()
	for rank := range careRanks(p, w) {
		number := strconv.Itoa(rank)
		why, _ := os.ReadFile(filepath.Join(dir, "failed."+number))
		require.True(t, exists(dir, "saved."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "failed."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "asked."+number), "a loader of rank %d was asked", rank)
	}
	if w.code != 0 {
		o.wants(t, w.code)
	}
	if !p.Lingers {
		// The next attempt of an elastic run is part of it: PyTorch takes seconds to begin.
		require.Less(t, time.Since(asked), 55*time.Second, "nobody waits for the end of the grace when all have saved")
	}
}

// printCare prints which cells are good, and those left out with why.
func printCare(t *testing.T, programs []care.Program, ways []careWay, cells map[string]string) {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%-32s", "checkpoints, nothing left")
	for _, w := range ways {
		fmt.Fprintf(&text, "%12s", w.name)
	}
	good, all := 0, 0
	var missing []string
	for _, p := range programs {
		fmt.Fprintf(&text, "\n%-32s", p.Name)
		for _, w := range ways {
			cell := cells[p.Name+"|"+w.name]
			fmt.Fprintf(&text, "%12s", cell)
			switch cell {
			case "1/1":
				good, all = good+1, all+1
			case "0/1":
				all++
			}
		}
		if p.Missing != "" && !slices.Contains(missing, p.Missing) {
			missing = append(missing, p.Missing)
		}
	}
	fmt.Fprintf(&text, "\n%d of %d cells are good", good, all)
	for _, one := range missing {
		fmt.Fprintf(&text, "\nleft out: %s", one)
	}
	t.Log(text.String())
}

// gloo is the environment for ranks of Debian's PyTorch, which test/e2e/torch.sh unpacks.
// Without it, a module stands in that has torch.distributed's names and files.
func gloo(t *testing.T) []string {
	root := os.Getenv("MUSTER_TORCH_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		root = filepath.Join(cache, "muster", "torch")
	}
	packages := filepath.Join(root, "usr/lib/python3/dist-packages")
	if _, err := os.Stat(filepath.Join(packages, "torch/__init__.py")); err == nil {
		libraries := []string{filepath.Join(root, "usr/lib")}
		for _, pattern := range []string{"usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/*blas*", "usr/lib/*-linux-gnu/*lapack*"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			require.NoError(t, err)
			libraries = append(libraries, found...)
		}
		return []string{"PYTHONPATH=" + packages, "LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
	}
	t.Log("no PyTorch (test/e2e/torch.sh unpacks it): a module stands in")
	packages = filepath.Join(t.TempDir(), "site-packages")
	for name, text := range map[string]string{
		"torch/__init__.py":                     "def ones(n): return [1.0] * n\n",
		"torch/distributed/__init__.py":         "from .distributed_c10d import *\n",
		"torch/distributed/distributed_c10d.py": standInGloo,
	} {
		path := filepath.Join(packages, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return []string{"PYTHONPATH=" + packages}
}

// standInGloo waits as gloo does: in a futex, for threads that have the sockets.
const standInGloo = `
import os, socket, sys, threading
def init_process_group(backend, timeout):
    global limit, plain
    limit, plain = timeout.total_seconds(), sys.modules["__main__"].Plain()
def get_rank():
    return plain.rank
def all_reduce(tensor):
    done = threading.Event()
    def meet():
        plain.barrier()
        done.set()
    threading.Thread(target=meet, daemon=True).start()
    if not done.wait(limit):
        raise RuntimeError("[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting for recv operation to complete")
`

// TestCareHungRankIsNamed: every way to hang, by every way to wait for it.
func TestCareHungRankIsNamed(t *testing.T) {
	env := gloo(t)
	turns := make(chan struct{}, 2)
	for _, transport := range []string{"gloo", "plain", "mpi"} {
		for way := range hungWays {
			for _, failure := range []bool{false, true} {
				c := hungCell{transport: transport, way: way, failure: failure}
				if transport == "mpi" && failure || way == "loop" && transport != "mpi" && !failure {
					continue // ranks of MPI do not give up; a rank that computes is no hang
				}
				if transport == "gloo" {
					c.env = env
				}
				t.Run(fmt.Sprintf("%s/%s/gives up %t", transport, way, failure), func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					c.named(t)
				})
			}
		}
	}
}

// TestCareStacksTakeLittleTime: of a failed job of 60 ranks, with and without stacks.
func TestCareStacksTakeLittleTime(t *testing.T) {
	const fails = `import os, time
if os.environ["RANK"] == "7": time.sleep(4); raise RuntimeError("[gloo] Timed out waiting 4000ms for recv operation")
time.sleep(1000)`
	for name, job := range map[string]struct{ flags, command []string }{
		"group":   {[]string{"--fake=4", "--procs-per-worker=15", "--framework=torch"}, []string{"/usr/bin/python3", "-c", fails}},
		"openmpi": {[]string{"--fake=4", "--slots=15"}, []string{"mpirun.openmpi", "-n", "60", "/usr/bin/python3", "-c", strings.ReplaceAll(fails, `"RANK"`, `"OMPI_COMM_WORLD_RANK"`)}},
	} {
		t.Run(name, func(t *testing.T) {
			median := func(flags ...string) time.Duration {
				var all []time.Duration
				for range 5 {
					o := run(t, agentRun(t, append(slices.Clone(job.flags), flags...), job.command...))
					o.wants(t, 1)
					all = append(all, o.took)
				}
				slices.Sort(all)
				return all[len(all)/2]
			}
			with, without := median(), median("--stacks=never")
			t.Logf("a failed job of 60 ranks ends after %.2f s with stacks and %.2f s without: %.2f s more", with.Seconds(), without.Seconds(), (with - without).Seconds())
			require.Less(t, with-without, 2*time.Second)
		})
	}
}

// TestCareZeroSwallowed: no launcher that swallows a failure ends the run with 0.
func TestCareZeroSwallowed(t *testing.T) {
	t.Parallel()
	dir := swallower(t)
	const (
		pdsh   = "pdsh -f 1024 -w 127.0.0.[2-3] " + rankLine
		strict = "pdsh -S -f 1024 -w 127.0.0.[2-3] " + rankLine
		one    = "ssh 127.0.0.2 'sleep 0.2; exit 0' & ssh 127.0.0.3 'cd /tmp > /dev/null 2>&1 ; HOROVOD_RANK=1 sh -c \"exit 3\"'; wait"
		its    = " said 0, but its session on worker 127.0.0."
	)
	for name, z := range map[string]zero{
		"deepspeed, pdsh":                  {command: []string{"deepspeed", pdsh}, code: 3, says: "deepspeed" + its},
		"deepspeed, pdsh -S":               {command: []string{"deepspeed", strict}, code: 3, says: "deepspeed" + its},
		"deepspeed, ssh":                   {command: []string{"deepspeed", one}, code: 3, says: "deepspeed" + its + "3 exited with 3"},
		"deepspeed, one of two":            {command: []string{"deepspeed", "pdsh -w 127.0.0.[2-3] 'exit %n'"}, code: 1, says: "deepspeed" + its + "3 exited with 1\n"},
		"deepspeed, killed":                {command: []string{"deepspeed", "pdsh -w 127.0.0.2 'exec python3 -c \"import os; os.kill(os.getpid(), 9)\"'"}, code: 137, says: "deepspeed" + its + "2 was killed by SIGKILL"},
		"deepspeed, a worker that is none": {command: []string{"deepspeed", "pdsh -w 127.0.0.2,nohost 'sleep 0.1'"}, code: 255, says: `deepspeed said 0, but its call reached no worker: unknown host "nohost"`},
		"deepspeed, its sessions run on":   {command: []string{"deepspeed", "ssh 127.0.0.2 'sleep 60' </dev/null >/dev/null 2>&1 & sleep 0.5"}, code: 76, says: "deepspeed" + its + "2 still ran when it ended"},
		"deepspeed, nothing started":       {command: []string{"deepspeed", "true"}, code: 76, says: "deepspeed said 0, but it started nothing on any of the 2 workers"},
		"deepspeed, mpirun":                {command: []string{"deepspeed", "mpirun.openmpi -n 2 sh -c 'exit 3'"}, code: 3, says: "deepspeed said 0, but "},
		"deepspeed, a check and the job":   {command: []string{"deepspeed", "ssh 127.0.0.2 hostname -I >/dev/null; " + pdsh + "; pdsh -w 127.0.0.[2-3] rm -f /tmp/none"}, code: 3, says: "deepspeed" + its},
		"deepspeed, a retry failed":        {command: []string{"deepspeed", "ssh 127.0.0.2 'exit 4'; ssh 127.0.0.2 'exit 4'"}, code: 4, says: "deepspeed" + its},
		"deepspeed, it won and failed":     {command: []string{"deepspeed", "for n in 1 2; do ssh 127.0.0.2 '! [ -e $DIR/again ] && touch $DIR/again'; done"}, code: 1, says: "deepspeed" + its},
		"deepspeed, another worker won":    {command: []string{"deepspeed", "ssh 127.0.0.2 'exit 4'; ssh 127.0.0.3 'sleep 0.1'"}, code: 4, says: "deepspeed" + its},
		"deepspeed, its own code":          {command: []string{"deepspeed", pdsh}, env: []string{"SAYS=9"}, code: 9, says: "worker 127.0.0."},
		"deepspeed behind tee":             {command: []string{"bash", "-c", "deepspeed --hostfile=x '" + "pdsh -w 127.0.0.2 exit 3" + "' | tee log"}, code: 3, says: "bash said 0, but deepspeed's session on worker 127.0.0.2 exited with 3"},
		"deepspeed hides its code":         {command: []string{"bash", "-c", "SAYS=3 deepspeed --hostfile=x 'ssh 127.0.0.2 sleep 0.1' | cat"}, code: 3, says: "bash said 0, but deepspeed exited with 3"},
		"horovodrun, ssh":                  {command: []string{"horovodrun", "ssh -o PasswordAuthentication=no 127.0.0.2 -o ConnectTimeout=10 true; " + one}, code: 3, says: "horovodrun" + its + "3 exited with 3"},
		"horovodrun, mpirun":               {command: []string{"horovodrun", "mpirun.openmpi -n 2 sh -c 'exit 3'"}, code: 3, says: "horovodrun said 0, but "},
		"horovodrun, elastic, all failed":  {command: []string{"horovodrun", "--min-np", "1", "ssh 127.0.0.2 'exit 3'; ssh 127.0.0.3 'exit 4'"}, code: 3, says: "horovodrun" + its},
		"pdsh":                             {command: []string{"pdsh", "-w", "127.0.0.[2-3]", "exit 3"}, code: 3, says: "pdsh" + its},
		"pdsh behind timeout":              {command: []string{"timeout", "60", "pdsh", "-w", "127.0.0.[2-3]", "exit 3"}, code: 3, says: "timeout said 0, but pdsh's session on worker 127.0.0."},
		"ray":                              {flags: []string{"--framework=mpi"}, command: []string{"ray", "up", "ssh 127.0.0.2 'nosuchray start --address=x'"}, code: 127, says: "ray" + its},
		"accelerate, deepspeed":            {flags: []string{"--framework=mpi"}, command: []string{"accelerate", "launch", "deepspeed '" + "pdsh -w 127.0.0.2 exit 3" + "'"}, code: 3, says: "accelerate said 0, but deepspeed's session on worker 127.0.0.2 exited with 3"},
		"accelerate":                       {command: []string{"accelerate", "launch", "sleep 1.5; exit 3"}, code: 3, says: "rank "},
		"torchrun":                         {command: []string{"torchrun", "sleep 1.5; exit 3"}, code: 3, says: "rank "},
		"torchrun behind tee":              {command: []string{"bash", "-c", "torchrun 'sleep 1.5; exit 3' | cat"}, code: 3, says: "rank "},
		"mpirun":                           {command: []string{"mpirun", "agent rsh 127.0.0.2 'exit 3'"}, code: 3, says: "mpirun" + its + "2 exited with 3"},
		"mpiexec.hydra":                    {command: []string{"mpiexec.hydra", "agent rsh 127.0.0.2 'exit 3'"}, code: 3, says: "mpiexec.hydra" + its + "2 exited with 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.judge(t, dir)
		})
	}
}

// TestCareZeroEarned: failures that a launcher gets over, and those that are nobody's work,
// leave the 0.
func TestCareZeroEarned(t *testing.T) {
	t.Parallel()
	dir := swallower(t)
	for name, z := range map[string]zero{
		"checks of DeepSpeed's":      {command: []string{"deepspeed", "ssh -o PasswordAuthentication=no 127.0.0.2 hostname; pdsh -w 127.0.0.[2-3] 'which ninja-none'; pdsh -w 127.0.0.[2-3] 'cd /tmp; sleep 0.1'; pdsh -w 127.0.0.[2-3] pkill -x nothing-like-it"}},
		"checks of Horovod's":        {command: []string{"horovodrun", "ssh 127.0.0.2 'python3 -m horovod.runner.task_fn 1 2 3'; ssh 127.0.0.2 'cd /tmp > /dev/null 2>&1 ; HOROVOD_RANK=1 sh -c \"exit 0\"'"}},
		"a directory, a file":        {command: []string{"pdsh", "-w", "127.0.0.[2-3]", "test -d /none || ls /none"}},
		"a retry won":                {command: []string{"deepspeed", "for n in 1 2; do pdsh -w 127.0.0.[2-3] '[ -e $DIR/again%n ] || { touch $DIR/again%n; exit 3; }'; done"}},
		"the last of three won":      {command: []string{"horovodrun", "for n in 1 2 3; do ssh 127.0.0.2 'echo >>$DIR/tries; [ $(wc -l <$DIR/tries) = 3 ] || exit 255'; done"}},
		"another deepspeed won":      {command: []string{"bash", "-c", "deepspeed --hostfile=x 'ssh 127.0.0.2 exit 3'; deepspeed --hostfile=x 'ssh 127.0.0.2 sleep 0.1'"}},
		"mpirun after deepspeed":     {command: []string{"bash", "-c", "deepspeed --hostfile=x 'ssh 127.0.0.2 exit 3'; mpirun.openmpi -n 1 sleep 0.2"}},
		"autotuning":                 {command: []string{"deepspeed", "--autotuning", "tune", "deepspeed --include=x 'ssh 127.0.0.2 exit 3'"}},
		"an elastic horovodrun":      {command: []string{"horovodrun", "--min-np", "1", "ssh 127.0.0.2 'sleep 0.1'; ssh 127.0.0.3 'exit 3'"}},
		"help":                       {command: []string{"deepspeed", "--help"}},
		"its build":                  {command: []string{"horovodrun", "--check-build", "true"}},
		"a script's own pdsh":        {command: []string{"bash", "-c", "pdsh -w 127.0.0.[2-3] 'exit 3'; true"}},
		"a script's own ssh":         {command: []string{"bash", "-c", "ssh 127.0.0.2 'exit 3'; ssh 127.0.0.2 'exit 4' || true"}},
		"the word of deepspeed":      {flags: []string{"--exit=command"}, command: []string{"deepspeed", "pdsh -w 127.0.0.2 'exit 3'"}},
		"the launcher stopped it":    {command: []string{"deepspeed", "timeout 1 ssh 127.0.0.2 'sleep 60' </dev/null; ssh 127.0.0.3 'sleep 0.1'"}},
		"torchrun started again":     {command: []string{"torchrun", "--max-restarts=1", "sleep 1.5; exit 3\nsleep 0.1"}},
		"torchrun with a second try": {command: []string{"bash", "-c", "torchrun 'sleep 1.5; exit 3'; torchrun 'sleep 1'"}},
		"torchrun, the word of it":   {flags: []string{"--exit=command"}, command: []string{"torchrun", "sleep 1.5; exit 3"}},
		"a helper of a rank":         {command: []string{"torchrun", "sh -c 'sleep 1.5; exit 3'; sleep 0.2; true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.judge(t, dir)
		})
	}
}

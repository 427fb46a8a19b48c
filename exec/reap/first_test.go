//go:build linux

package reap

import (
	"bytes"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a process of a table. Its numbers are words such as RANK=0.
type row struct {
	pid, ppid int
	argv      string // the first word gives the name; a "python3 train.py" has the name python3
	numbers   string
	answer    answer
}

const (
	train    = "python3 train.py"
	spawned  = "python3 -c from_multiprocessing.spawn_import_spawn_main"
	served   = "python3 -c from_multiprocessing.forkserver_import_main"
	tracking = "python3 -c from_multiprocessing.resource_tracker_import_main"
)

// picked returns the pids of the ranks in a table. A process whose parent is pid 1 is the first
// process of a session.
func picked(rows []row) []int {
	var procs []Proc
	at := map[int]row{}
	for _, r := range rows {
		comm, _, _ := strings.Cut(r.argv, " ")
		comm = path.Base(comm)
		procs = append(procs, Proc{PID: r.pid, PPID: r.ppid, State: 'S', Comm: comm, First: r.ppid == 1})
		at[r.pid] = r
	}
	got := ranks(procs, facts{
		numbers: func(p Proc) Numbers {
			return numbersIn([]byte(strings.ReplaceAll(at[p.PID].numbers, " ", "\x00")))
		},
		answer: func(p Proc) answer { return at[p.PID].answer },
		argv:   func(p Proc) []string { return strings.Fields(at[p.PID].argv) },
	})
	return pids(got)
}

// reaped marks, as the parent, a process that has left its session: its parent is now the reaper.
const reaped = -1

func TestRanks(t *testing.T) {
	for name, c := range map[string]struct {
		rows []row
		want []int
	}{
		"no processes":                        {nil, []int{}},
		"one process":                         {[]row{{2, 1, "a", "", dies}}, []int{2}},
		"one process that ignores the signal": {[]row{{2, 1, "a", "", ignores}}, []int{2}},

		"forked loaders":                          {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, train, "RANK=0", handles}, {4, 2, train, "RANK=0", handles}}, []int{2}},
		"forked loaders without numbers":          {[]row{{2, 1, train, "", handles}, {3, 2, train, "", handles}}, []int{2}},
		"spawned loaders":                         {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, tracking, "RANK=0", ignores}, {4, 2, spawned, "RANK=0", handles}}, []int{2}},
		"forkserver loaders":                      {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, tracking, "RANK=0", ignores}, {4, 2, served, "RANK=0", dies}, {5, 4, served, "RANK=0", handles}}, []int{2}},
		"a program that sets its own rank number": {[]row{{2, 1, train, "", handles}, {3, 2, spawned, "RANK=0", handles}, {4, 2, tracking, "RANK=0", ignores}}, []int{2}},
		"a rank that sets a second rank variable": {[]row{{2, 1, train, "OMPI_COMM_WORLD_RANK=0", handles}, {3, 2, spawned, "OMPI_COMM_WORLD_RANK=0 RANK=0", handles}}, []int{2}},
		"a tracker of a rank without a handler":   {[]row{{2, 1, train, "RANK=0", dies}, {3, 2, tracking, "RANK=0", ignores}}, []int{2}},
		"a compiler":                              {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, "sh -c", "RANK=0", dies}, {4, 3, "nvcc", "RANK=0", dies}}, []int{2}},

		"torchrun with two ranks": {[]row{{2, 1, "torchrun train.py", "", handles}, {3, 2, train, "RANK=0 LOCAL_RANK=0", handles}, {4, 2, train, "RANK=1 LOCAL_RANK=1", handles},
			{5, 3, train, "RANK=0 LOCAL_RANK=0", handles}, {6, 4, train, "RANK=1 LOCAL_RANK=1", handles}}, []int{3, 4}},
		"torchrun's ranks without handlers":          {[]row{{2, 1, "torchrun", "", handles}, {3, 2, train, "RANK=0", handles}, {4, 2, train, "RANK=1", dies}, {5, 4, "nvcc", "RANK=1", dies}}, []int{3, 4}},
		"torchrun as a module":                       {[]row{{2, 1, "python3 -u -m torch.distributed.run --nnodes=1 train.py", "RANK=0", handles}, {3, 2, train, "RANK=0", handles}}, []int{3}},
		"torchrun as a script":                       {[]row{{2, 1, "python3 /usr/bin/torchrun train.py", "RANK=0", handles}, {3, 2, train, "RANK=0", handles}, {4, 2, tracking, "RANK=0", ignores}}, []int{3}},
		"torchrun with another process title":        {[]row{{2, 1, "pt_elastic", "RANK=0", handles}, {3, 2, train, "RANK=0", handles}}, []int{3}},
		"torchrun with the number of a rank":         {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, train, "RANK=0", handles}, {4, 2, train, "RANK=1", handles}}, []int{3, 4}},
		"torchrun behind a shell and a logger":       {[]row{{2, 1, "sh run.sh", "", dies}, {3, 2, "torchrun", "", handles}, {4, 3, train, "RANK=0", handles}, {5, 2, "tee log", "", dies}}, []int{4}},
		"accelerate, two ranks":                      {[]row{{2, 1, "accelerate launch", "", handles}, {3, 2, train, "LOCAL_RANK=0", handles}, {4, 2, train, "LOCAL_RANK=1", handles}}, []int{3, 4}},
		"accelerate, one rank":                       {[]row{{2, 1, "python3 -m accelerate.commands.launch train.py", "", handles}, {3, 2, train, "", handles}, {4, 3, train, "", handles}}, []int{3}},
		"deepspeed":                                  {[]row{{2, 1, "deepspeed", "", handles}, {3, 2, "python3 -u -m deepspeed.launcher.launch", "", handles}, {4, 3, train, "RANK=0", handles}, {5, 3, train, "RANK=1", dies}}, []int{4, 5}},
		"mp.spawn by a parent with a handler":        {[]row{{2, 1, train, "RANK=0", handles}, {3, 2, spawned, "RANK=0", handles}, {4, 2, spawned, "RANK=0", handles}}, []int{2}},
		"mp.spawn by a parent without a handler":     {[]row{{2, 1, train, "RANK=0", dies}, {3, 2, tracking, "RANK=0", ignores}, {4, 2, spawned, "RANK=0", handles}, {5, 2, spawned, "RANK=0", handles}}, []int{4, 5}},
		"mp.spawn whose loaders have numbers":        {[]row{{2, 1, train, "", dies}, {3, 2, spawned, "", handles}, {4, 3, spawned, "RANK=0", handles}, {5, 2, spawned, "", handles}, {6, 5, spawned, "RANK=1", handles}}, []int{3, 5}},
		"multiprocessing that sets rank numbers":     {[]row{{2, 1, train, "", handles}, {3, 2, spawned, "RANK=0", handles}, {4, 2, spawned, "RANK=1", handles}, {5, 2, tracking, "RANK=1", ignores}}, []int{3, 4}},
		"Horovod with a process in between":          {[]row{{2, 1, "horovodrun", "", handles}, {3, 2, spawned, "", handles}, {4, 3, "sh -c", "", dies}, {5, 4, train, "HOROVOD_RANK=0", handles}}, []int{5}},
		"Horovod over ssh":                           {[]row{{2, 1, "horovodrun", "", handles}, {3, 2, tracking, "", ignores}, {4, 2, spawned, "", dies}, {5, 4, "sh -c", "", dies}, {6, 5, "ssh", "", handles}, {7, 2, spawned, "", dies}, {8, 7, "ssh", "", handles}}, []int{}},
		"JAX":                                        {[]row{{2, 1, train, "JAX_PROCESS_ID=0", handles}, {3, 2, train, "JAX_PROCESS_ID=0", dies}}, []int{2}},
		"an unknown launcher of one rank":            {[]row{{2, 1, "launch", "", handles}, {3, 2, "train", "RANK=0", handles}}, []int{3}},
		"an unknown launcher without numbers":        {[]row{{2, 1, "launch", "", handles}, {3, 2, "worker", "", handles}}, []int{2}},
		"no process has a handler":                   {[]row{{2, 1, train, "RANK=0", dies}, {3, 2, train, "RANK=0", dies}}, []int{2}},
		"a rank without a handler, a child with one": {[]row{{2, 1, train, "RANK=0", dies}, {3, 2, train, "RANK=0", handles}}, []int{3}},

		"orted":                           {[]row{{2, 1, "orted", "", handles}, {3, 2, "a", "OMPI_COMM_WORLD_RANK=0", dies}, {4, 2, "a", "OMPI_COMM_WORLD_RANK=1", handles}}, []int{3, 4}},
		"orted that has left its session": {[]row{{2, reaped, "orted", "", handles}, {3, 2, "a", "OMPI_COMM_WORLD_RANK=0", handles}, {4, 3, "a", "OMPI_COMM_WORLD_RANK=0", handles}}, []int{3}},
		"orted beside a shell":            {[]row{{2, 1, "sh", "", dies}, {3, reaped, "orted", "", handles}, {4, 3, "a", "OMPI_COMM_WORLD_RANK=0", handles}}, []int{2, 4}},
		"orted without ranks":             {[]row{{2, 1, "orted", "", handles}}, []int{}},
		"prted":                           {[]row{{2, 1, "prted", "PMIX_RANK=1", handles}, {3, 2, "bash rank.sh", "PMIX_RANK=0", dies}, {4, 3, train, "PMIX_RANK=0", handles}}, []int{4}},
		"Hydra's proxies":                 {[]row{{2, 1, "hydra_bstrap_pr", "", handles}, {3, 2, "hydra_pmi_proxy", "", handles}, {4, 3, "a", "PMI_RANK=0", handles}, {5, 3, "a", "PMI_RANK=1", dies}}, []int{4, 5}},
		"mpirun and its remote shells":    {[]row{{2, 1, "mpirun", "", handles}, {3, 2, "agent rsh", "", handles}, {4, 2, "sh -c", "", dies}, {5, 4, "ssh", "", dies}}, []int{}},
		"mpirun.openmpi":                  {[]row{{2, 1, "sh run.sh", "", dies}, {3, 2, "mpirun.openmpi", "", handles}, {4, 3, "agent rsh", "", handles}}, []int{}},
		"Hydra's mpiexec":                 {[]row{{2, 1, "mpiexec.mpich", "", handles}, {3, 2, "agent rsh", "", handles}, {4, 2, "agent rsh", "PMI_RANK=0", handles}}, []int{}},
		"mpirun with local ranks":         {[]row{{2, 1, "mpirun", "", handles}, {3, 2, "agent rsh", "", handles}, {4, 2, "a", "OMPI_COMM_WORLD_RANK=0", handles}}, []int{4}},
		"ray":                             {[]row{{2, 1, "sh -c", "", dies}, {3, 2, train, "", handles}, {4, reaped, "gcs_server", "", handles}, {5, reaped, "raylet", "", handles}, {6, 5, "ray::IDLE", "", handles}}, []int{3, 6}},

		"bash with several commands":                 {[]row{{2, 1, "bash run.sh", "RANK=0", dies}, {3, 2, train, "RANK=0", handles}, {4, 3, train, "RANK=0", handles}}, []int{3}},
		"a shell and a pipe":                         {[]row{{2, 1, "sh -c", "RANK=0", dies}, {3, 2, train, "RANK=0", handles}, {4, 2, "tee", "RANK=0", dies}}, []int{3}},
		"a shell with two ranks":                     {[]row{{2, 1, "sh -c", "", dies}, {3, 2, train, "RANK=0", handles}, {4, 2, train, "RANK=1", dies}}, []int{3, 4}},
		"a shell with a trap, and a program":         {[]row{{2, 1, "bash", "RANK=0", handles}, {3, 2, train, "RANK=0", handles}, {4, 2, "tee", "RANK=0", dies}}, []int{2, 3}},
		"a shell with a trap waits for sleep":        {[]row{{2, 1, "bash", "RANK=0", handles}, {3, 2, "sleep", "RANK=0", dies}}, []int{2, 3}},
		"a shell that waits for sleep":               {[]row{{2, 1, "sh -c", "", dies}, {3, 2, "sleep", "", dies}}, []int{2, 3}},
		"a shell and a sleep that ignore the signal": {[]row{{2, 1, "sh -c", "RANK=0", ignores}, {3, 2, "sleep", "RANK=0", ignores}}, []int{2, 3}},
		"a shell with a trap, no number":             {[]row{{2, 1, "bash", "", handles}, {3, 2, "sleep", "", dies}}, []int{2, 3}},
		"a shell in a shell, both with a trap":       {[]row{{2, 1, "sh", "", handles}, {3, 2, "sh", "", handles}}, []int{3}},
		"a script run by its name":                   {[]row{{2, 1, "/bin/bash ./run.sh", "RANK=0", dies}, {3, 2, train, "RANK=0", handles}, {4, 3, train, "RANK=0", handles}}, []int{3}},
		"timeout":                                    {[]row{{2, 1, "timeout 9 train", "RANK=0", handles}, {3, 2, train, "RANK=0", handles}, {4, 3, train, "RANK=0", handles}}, []int{3}},
		"tini":                                       {[]row{{2, 1, "tini -- train", "RANK=0", ignores}, {3, 2, train, "RANK=0", handles}}, []int{3}},
		"timeout around tini around a shell":         {[]row{{2, 1, "timeout", "", handles}, {3, 2, "tini", "", handles}, {4, 3, "sh -c", "", dies}, {5, 4, train, "", handles}, {6, 5, train, "", handles}}, []int{5}},
		"numactl, nice, env and stdbuf":              {[]row{{2, 1, "numactl", "", dies}, {3, 2, "nice", "", dies}, {4, 3, "env", "", dies}, {5, 4, "stdbuf", "", dies}, {6, 5, train, "", handles}}, []int{6}},
		"a wrapper before it starts its program":     {[]row{{2, 1, "env", "RANK=0", dies}}, []int{2}},

		"a daemon with its rank's number":  {[]row{{2, 1, train, "RANK=0", handles}, {3, reaped, "d", "RANK=0", handles}}, []int{2}},
		"a daemon without a number":        {[]row{{2, 1, train, "", handles}, {3, reaped, "d", "", handles}}, []int{2}},
		"a daemon whose rank has ended":    {[]row{{3, reaped, "d", "RANK=0", handles}}, []int{3}},
		"ranks whose launcher has ended":   {[]row{{2, reaped, train, "RANK=0", handles}, {3, reaped, train, "RANK=1", dies}}, []int{2, 3}},
		"a daemon of a rank of a launcher": {[]row{{5, reaped, "d", "RANK=0", handles}, {2, 1, "torchrun", "", handles}, {3, 2, train, "RANK=0", handles}}, []int{3}},
		"two sessions, one has a handler":  {[]row{{2, 1, "a", "RANK=0", dies}, {3, 1, "b", "RANK=1", handles}, {4, 3, "c", "RANK=1", handles}}, []int{2, 3}},
		"two sessions without numbers":     {[]row{{2, 1, "a", "", dies}, {3, 1, "b", "", handles}}, []int{2, 3}},
		"a scan with circular parents":     {[]row{{2, 3, "a", "RANK=0", handles}, {3, 2, "b", "RANK=1", dies}, {4, 1, "c", "", dies}}, []int{4}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, picked(c.rows))
			slices.Reverse(c.rows)
			got := picked(c.rows)
			slices.Sort(got)
			require.Equal(t, c.want, got, "in reverse scan order")
		})
	}
}

func TestFirstReturnsAllWithoutRanks(t *testing.T) {
	alive := []Proc{{PID: 1 << 30, PPID: 1, State: 'S', Comm: "orted"}, {PID: 1<<30 + 1, PPID: 1 << 30, State: 'S', Comm: "agent"}}
	require.Equal(t, alive, new(stop).first(alive, syscall.SIGTERM))
}

func TestAnswer(t *testing.T) {
	var buf bytes.Buffer
	self := Proc{PID: os.Getpid()}
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGWINCH)
	defer signal.Stop(taken)
	require.Equal(t, handles, answerOf(self, syscall.SIGWINCH, &buf))
	require.Equal(t, dies, answerOf(self, syscall.SIGSTOP, &buf))
	require.Equal(t, dies, answerOf(Proc{PID: 1 << 30}, syscall.SIGTERM, &buf))
	for name, c := range map[string]struct {
		status string
		want   answer
	}{
		"a handler":                    {"SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0000000000004002\n", handles},
		"a blocked signal":             {"SigBlk:\t0000000000004000\nSigIgn:\t0\nSigCgt:\t0\n", handles},
		"an ignored signal":            {"SigBlk:\t0\nSigIgn:\t0000000000005000\nSigCgt:\t0\n", ignores},
		"no handler":                   {"SigBlk:\t0\nSigIgn:\t0000000001001000\nSigCgt:\t0000000000000002\n", dies},
		"a data loader of PyTorch":     {"SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t00000000000044c2\n", dies},
		"a handler and a faulthandler": {"SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t00000000000044fa\n", handles},
		"a rank of MPICH with UCX":     {"SigBlk:\t0\nSigIgn:\t0000000000100000\nSigCgt:\t00000001000046c9\n", handles},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, parseAnswer([]byte(c.status), syscall.SIGTERM)) })
	}
}

// TestLongNumbersDoNotCount checks that a variable is a rank's number only if it is short: numbers are
// kept for each process, and reach records of the link.
func TestLongNumbersDoNotCount(t *testing.T) {
	long := strings.Repeat("1", LongestNumber+1)
	require.False(t, numbersIn([]byte("RANK="+long+"\x00PMI_RANK="+long)).some())
	require.Equal(t, "2", numbersIn([]byte("RANK="+long+"\x00PMI_RANK=2")).Rank())
	require.Equal(t, long[1:], numbersIn([]byte("RANK="+long[1:])).Rank())
}

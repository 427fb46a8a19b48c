package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// rank returns a Python rank in a state and a system call, such as "S futex", with a text of
// faulthandler.
func rank(n int, state, text string) Rank {
	letter, call, _ := strings.Cut(state, " ")
	return New(fmt.Sprintf("rank %d", n), n, fmt.Sprintf("w%d", n), wire.StackRecord{Text: []byte(text),
		Process: wire.ProcessRecord{PID: 40 + n, Command: "python3", Rank: fmt.Sprint(n), State: letter, Call: call, Threads: 1}})
}

// stack returns a text of faulthandler for frames of the form "file:line func".
func stack(frames ...string) string {
	text := "Current thread 0x1 (most recent call first):\n"
	for _, f := range frames {
		at, name, _ := strings.Cut(f, " ")
		file, line, _ := strings.Cut(at, ":")
		text += fmt.Sprintf("  File %q, line %s in %s\n", file, line, name)
	}
	return text
}

const torch = "/usr/lib/python3/site-packages/torch/distributed/"

var (
	allReduce = stack(torch+"distributed_c10d.py:2501 all_reduce", torch+"c10d_logger.py:81 wrapper", "/app/train.py:40 step", "/app/train.py:60 <module>")
	load      = stack("/app/train.py:31 load_batch", "/app/train.py:60 <module>")
	plainStep = stack("/app/train.py:40 step", "/app/train.py:60 <module>")
	fsdp      = stack("/app/train.py:12 forward", torch+"fsdp/fully_sharded_data_parallel.py:80 forward", "/app/train.py:41 step")
)

func mpi(r Rank) Rank {
	r.Record.MPI = true
	return r
}

func peer(r Rank, address string, closed bool) Rank {
	r.Record.Process.Peer, r.Record.Process.PeerClosed = address, closed
	return r
}

func TestHangVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		ranks []Rank
		want  string
	}{
		"sleeps": {[]Rank{rank(0, "S clock_nanosleep", load), rank(1, "S futex", allReduce)},
			"rank 1 on w1 is waiting in all_reduce at train.py:40 step; rank 0 on w0 is not waiting: sleeping at train.py:31 load_batch. Look at rank 0 first."},
		"lock": {[]Rank{rank(0, "S futex", allReduce), rank(1, "S futex", load), rank(2, "S futex", allReduce)},
			"ranks 0, 2 are waiting in all_reduce at train.py:40 step; rank 1 on w1 is not waiting: waiting for a lock at train.py:31 load_batch. Look at rank 1 first."},
		"computes": {[]Rank{rank(0, "R", load), rank(1, "S futex", allReduce)},
			"rank 1 on w1 is waiting in all_reduce at train.py:40 step; rank 0 on w0 is not waiting: running at train.py:31 load_batch. Look at rank 0 first."},
		"stopped, without a stack": {[]Rank{rank(0, "T", ""), rank(1, "S futex", allReduce)},
			"rank 1 on w1 is waiting in all_reduce at train.py:40 step; rank 0 on w0 is not waiting: stopped, as by SIGSTOP. Look at rank 0 first."},
		"one reads from a pipe, another from a socket": {[]Rank{rank(0, "S read", load), peer(rank(1, "S recvfrom", plainStep), "10.0.0.7:80", false)},
			"rank 1 on w1 is waiting for 10.0.0.7:80 at train.py:40 step; rank 0 on w0 is not waiting: reading from a pipe or a file at train.py:31 load_batch. Look at rank 0 first."},
		"computes below a wrapper of torch.distributed": {[]Rank{rank(0, "R", fsdp), rank(1, "S futex", allReduce)},
			"rank 1 on w1 is waiting in all_reduce at train.py:40 step; rank 0 on w0 is not waiting: running at train.py:12 forward. Look at rank 0 first."},
		"a lock is weaker evidence than a sleep": {[]Rank{rank(0, "S futex", plainStep), rank(1, "S clock_nanosleep", load), rank(2, "S futex", allReduce)},
			"rank 2 on w2 is waiting in all_reduce at train.py:40 step; rank 1 on w1 is not waiting: sleeping at train.py:31 load_batch. Look at rank 1 first."},
		"computing is weaker evidence than reading": {[]Rank{rank(0, "R", plainStep), rank(1, "S read", load), rank(2, "S futex", allReduce)},
			"rank 2 on w2 is waiting in all_reduce at train.py:40 step; rank 1 on w1 is not waiting: reading from a pipe or a file at train.py:31 load_batch. Look at rank 1 first."},
		"a peer that closed the connection": {[]Rank{rank(0, "S futex", allReduce), peer(rank(1, "S recvfrom", plainStep), "10.0.0.7:80", true)},
			"rank 1 on w1 at train.py:40 step is waiting for 10.0.0.7:80, which has closed the connection"},
		"MPI: one of three differs": {[]Rank{mpi(rank(0, "R", plainStep)), mpi(rank(1, "R", load)), mpi(rank(2, "R", plainStep))},
			"ranks 0, 2 are at train.py:40 step; rank 1 on w1 differs: running: computing, or polling in MPI at train.py:31 load_batch. Look at rank 1 first."},
		"MPI: two that differ":          {[]Rank{mpi(rank(0, "R", plainStep)), mpi(rank(1, "R", load))}, ""},
		"all wait":                      {[]Rank{rank(0, "S futex", allReduce), rank(1, "S futex", allReduce)}, ""},
		"all wait, in different places": {[]Rank{rank(0, "S futex", allReduce), rank(1, "S futex", allReduce), rank(2, "S recvfrom", plainStep)}, ""},
		"all do the same":               {[]Rank{rank(0, "S clock_nanosleep", load), rank(1, "S clock_nanosleep", load)}, ""},
		"most do not wait":              {[]Rank{rank(0, "R", load), rank(1, "R", plainStep), rank(2, "S futex", allReduce)}, ""},
		"no stacks":                     {[]Rank{rank(0, "S", ""), rank(1, "S", "")}, ""},
		"no ranks":                      {nil, ""},
		"one rank":                      {[]Rank{rank(0, "S clock_nanosleep", load)}, ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, OfHang(c.ranks).Sentence) })
	}
}

func TestFailureVerdict(t *testing.T) {
	gloo := []string{"    dist.all_reduce(x)", "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"}
	nccl := []string{"[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000)"}
	const failed = "rank 1 on w1 exited with 1"
	for name, c := range map[string]struct {
		tail  []string
		ranks []Rank
		want  string
	}{
		"the other rank sleeps": {nccl, []Rank{rank(0, "S clock_nanosleep", load)},
			failed + " (timed out in allreduce); rank 0 on w0 was not waiting: sleeping at train.py:31 load_batch. Look at rank 0 first."},
		"one of many sleeps": {gloo, []Rank{rank(0, "S clock_nanosleep", load), rank(2, "S futex", allReduce), rank(3, "S futex", allReduce)},
			failed + " (timed out in all_reduce); rank 0 on w0 was not waiting: sleeping at train.py:31 load_batch. Look at rank 0 first."},
		"another is about to fail": {gloo, []Rank{rank(0, "R", plainStep), rank(2, "S read", load)},
			failed + " (timed out in all_reduce); rank 2 on w2 was not waiting: reading from a pipe or a file at train.py:31 load_batch. Look at rank 2 first."},
		"all wait":                          {gloo, []Rank{rank(0, "S futex", allReduce), rank(2, "S futex", allReduce)}, failed + " (timed out in all_reduce)"},
		"a socket":                          {[]string{"TimeoutError: timed out"}, []Rank{rank(0, "S read", load)}, failed + " (timed out); rank 0 on w0 was not waiting: reading from a pipe or a file at train.py:31 load_batch. Look at rank 0 first."},
		"an unknown operation of a library": {gloo[1:], nil, failed + " (timed out while it waited for others)"},
		"a bug in the rank":                 {[]string{"ValueError: NaN"}, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"a timeout that is not about peers": {[]string{"requests.exceptions.ReadTimeout: HTTPS: Read timed out."}, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"a taken port": {[]string{
			"[rank1]: Traceback (most recent call last):", `[rank1]:   File "/usr/lib/python3/dist-packages/torch/distributed/rendezvous.py", line 190, in _create_c10d_store`,
			"[rank1]:     return TCPStore(hostname, port, world_size, start_daemon, timeout, multi_tenant=True)",
			"[rank1]: torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, code: -98, name: EADDRINUSE",
		}, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"a wrong argument": {[]string{"    dist.init_process_group('nccl', timeout=timedelta(hours=2))", "ValueError: environment variable RANK expected, but not set"}, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"a setting":        {[]string{"INFO nccl timeout=1800", "timeout = 30 for each all_reduce", "gloo_timeout_seconds: 5", "nccl_timeout: 1800", "{'backend': 'nccl', 'timeout': 1800}", "ValueError: NaN"}, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"a rank that does not come": {[]string{"    store = TCPStore(", "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 clients joined."}, []Rank{rank(0, "S clock_nanosleep", load)},
			failed + " (timed out while it waited for others); rank 0 on w0 was not waiting: sleeping at train.py:31 load_batch. Look at rank 0 first."},
		"no last output":   {nil, []Rank{rank(0, "S clock_nanosleep", load)}, ""},
		"no rank is alive": {gloo, nil, failed + " (timed out in all_reduce)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, OfFailure(Failure{Sentence: failed, Tail: c.tail}, c.ranks).Sentence)
		})
	}
}

// TestFailureVerdictOfMixedLines checks that the verdict names no cause if the output of mpirun,
// which has the lines of all ranks, shows several causes.
func TestFailureVerdictOfMixedLines(t *testing.T) {
	const failed = "rank 1 on w1 exited with 1"
	const named = "; rank 0 on w0 was not waiting: sleeping at train.py:31 load_batch. Look at rank 0 first."
	for name, c := range map[string]struct {
		tail []string
		want string
	}{
		"a socket":        {[]string{"step 3: all_reduce timed out, and is tried again", "Traceback (most recent call last):", "  File \"x.py\"", "TimeoutError: timed out", "mpirun detected"}, failed + " (timed out)" + named},
		"a collective":    {[]string{"barrier", "Traceback (most recent call last):", "    dist.all_reduce(x)", "RuntimeError: [gloo] Timed out waiting", "mpirun has ended the barrier"}, failed + " (timed out in all_reduce)" + named},
		"tagged":          {[]string{"[1,1]<stderr>:Traceback (most recent call last):", "[1,1]<stderr>:socket.timeout: timed out"}, failed + " (timed out)" + named},
		"Hydra's tags":    {[]string{"[1] TimeoutError: timed out"}, failed + " (timed out)" + named},
		"two causes":      {[]string{"TimeoutError: timed out", "ValueError: NaN"}, ""},
		"not about peers": {[]string{"requests.exceptions.ReadTimeout: HTTPS: Read timed out."}, ""},
		"no traceback":    {[]string{"all_reduce timed out"}, ""},
		"nothing":         {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := OfFailure(Failure{Sentence: failed, Tail: c.tail, Mixed: true}, []Rank{rank(0, "S clock_nanosleep", load)})
			require.Equal(t, c.want, v.Sentence)
		})
	}
}

// TestManyRanksAreGrouped checks that 512 ranks take few lines, and that the suspect comes first.
func TestManyRanksAreGrouped(t *testing.T) {
	var ranks []Rank
	for n := range 512 {
		text := allReduce
		if n == 510 {
			text = load
		}
		ranks = append(ranks, rank(n, "S futex", text))
	}
	v := OfHang(ranks)
	require.Equal(t, []int{510}, v.Suspects)
	require.Equal(t, []string{
		"rank 510 on w510: waiting for a lock at train.py:31 load_batch (python3, pid 550; futex)",
		`  File "/app/train.py", line 31 in load_batch`,
		`  File "/app/train.py", line 60 in <module>`,
		"ranks 0-509, 511: waiting in all_reduce at train.py:40 step (python3, pid 40; futex)",
		`  File "` + torch + `distributed_c10d.py", line 2501 in all_reduce`,
		`  File "` + torch + `c10d_logger.py", line 81 in wrapper`,
		`  File "/app/train.py", line 40 in step`,
		`  File "/app/train.py", line 60 in <module>`,
	}, Lines(ranks, v.Suspects))
}

// TestLinesAreBounded checks that the output is limited even if each rank is in a different place.
func TestLinesAreBounded(t *testing.T) {
	var ranks []Rank
	for n := range 5000 {
		var frames []string
		for i := range 200 {
			frames = append(frames, fmt.Sprintf("/app/%d.py:%d f", n, i))
		}
		ranks = append(ranks, rank(2*n, "S futex", stack(frames...)))
	}
	lines := Lines(ranks, nil)
	require.Less(t, len(lines), 400)
	require.Contains(t, lines[len(lines)-1], "and 4988 more places")
	require.Less(t, len(Names(ranks)), 400)
}

func TestNames(t *testing.T) {
	for want, numbers := range map[string][]int{
		"rank 3 on w3":      {3},
		"ranks 0, 1":        {1, 0},
		"ranks 0-2, 5, 7-9": {9, 8, 7, 5, 2, 1, 0},
		"ranks 0-1023":      nil,
	} {
		var ranks []Rank
		for _, n := range numbers {
			ranks = append(ranks, rank(n, "S", ""))
		}
		if numbers == nil {
			for n := range 1024 {
				ranks = append(ranks, rank(n, "S", ""))
			}
		}
		require.Equal(t, want, Names(ranks))
	}
}

package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

const euStack = `PID 1066 - process
TID 1066:
#0  0x00007f9c9259f482 __pthread_mutex_lock@@GLIBC_2.2.5 - /usr/lib/x86_64-linux-gnu/libc.so.6
    ./nptl/pthread_mutex_lock.c:48:5
#1  0x00007f7cafa822db - /app/libmine.so.1
#2  0x0000565011c991af ns::load(int, void (*)(int)) - /app/train
    /app/train.c:6:24
#3  0x0000565011c99210 main - /app/train
TID 1070:
#0  0x00007f9c925e2545 poll
`

const gdb = `[New LWP 1070]
futex_wait (private=0) at ../sysdeps/nptl/futex-internal.h:146

Thread 1 (Thread 0x7f9c92510740 (LWP 1066) "train"):
#0  futex_wait (private=0, futex_word=0x565011c9c060 <m>) at ../sysdeps/nptl/futex-internal.h:146
#1  0x00007f9c9259f482 in pthread_mutex_lock () from /lib/x86_64-linux-gnu/libc.so.6
#2  0x0000565011c991af in (anonymous namespace)::load<void (int)> (token="secret) at x.c:1", f=...) at train.c:6
#3  0x0000565011c99210 in ?? ()
#4  0x0 in main
[Inferior 1 (process 1066) detached]
`

func TestParseNative(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Thread
	}{
		"nothing": {"", nil},
		"eu-stack": {euStack, []Thread{{Current: true, Frames: []Frame{
			{File: "./nptl/pthread_mutex_lock.c", Line: 48, Func: "__pthread_mutex_lock", Native: true, Module: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
			{Func: "?", Native: true, Module: "/app/libmine.so.1"},
			{File: "/app/train.c", Line: 6, Func: "ns::load(int, void (*)(int))", Native: true, Module: "/app/train"},
			{Func: "main", Native: true, Module: "/app/train"},
		}}, {Frames: []Frame{{Func: "poll", Native: true}}}}},
		"gdb": {gdb, []Thread{{Current: true, Frames: []Frame{
			{File: "../sysdeps/nptl/futex-internal.h", Line: 146, Func: "futex_wait", Native: true},
			{Func: "pthread_mutex_lock", Native: true, Module: "/lib/x86_64-linux-gnu/libc.so.6"},
			{File: "train.c", Line: 6, Func: "(anonymous namespace)::load<void (int)>", Native: true},
			{Func: "?", Native: true},
			{Func: "main", Native: true},
		}}}},
		"cut":       {"TID 1:\n#0  0x1 f - /a\n#1  0x", []Thread{{Current: true, Frames: []Frame{{Func: "f", Native: true, Module: "/a"}, {Func: "?", Native: true}}}}},
		"odd names": {"TID 1:\n#0  0x1 f\x1b[31m - /a\u202e\n    b\x07.c:3\n", []Thread{{Current: true, Frames: []Frame{{File: "b?.c", Line: 3, Func: "f?[31m", Native: true, Module: "/a?"}}}}},
		"no thread": {"#0  0x1 f - /a\n    a.c:3\nptrace: Operation not permitted.\n", nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, ParseNative([]byte(c.text))) })
	}
}

const pySpy = `Process 1403: /usr/bin/python3 train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 1403 (idle): "MainThread"
    Loader.load_batch.<locals>.one (/app/train (1).py:31)
    <module> (/app/train.py:50)
Thread 1407 (active+gil): "Thread-1 (other)"
    Thread.run (/usr/lib/python3.11/threading.py:975)
`

func TestParsePySpy(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Thread
	}{
		"nothing": {"", nil},
		"two threads": {pySpy, []Thread{
			{Frames: []Frame{{File: "/usr/lib/python3.11/threading.py", Line: 975, Func: "run"}}},
			{Current: true, Frames: []Frame{{File: "/app/train (1).py", Line: 31, Func: "one"}, {File: "/app/train.py", Line: 50, Func: "<module>"}}}}},
		"cut":       {"Thread 1 (idle)\n    f (/a.py:3)\n    g (/a.p", []Thread{{Current: true, Frames: []Frame{{File: "/a.py", Line: 3, Func: "f"}}}}},
		"odd names": {"Thread 1\n    f\x1b (/a\x9b.py:3)\n", []Thread{{Current: true, Frames: []Frame{{File: "/a?.py", Line: 3, Func: "f?"}}}}},
		"no thread": {"    f (/a.py:3)\nError: no such process\n", nil},
		"no frames": {"Thread 1\n    f (/a.py)\n    f (/a.py:-3)\n     (/a.py:3)\n    f /a.py:3\nf (/a.py:3)\n", []Thread{{Current: true}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, ParsePySpy([]byte(c.text))) })
	}
}

// shown returns a rank whose stack was printed by a program of the image.
func shown(n int, state, by, text string) Rank {
	letter, call, _ := strings.Cut(state, " ")
	rec := wire.StackRecord{By: by, Native: []byte(text), Process: wire.ProcessRecord{PID: 40 + n, Command: "train", Rank: fmt.Sprint(n), State: letter, Call: call, Threads: 1}}
	if by == "py-spy" {
		rec.Text, rec.Native = rec.Native, nil
	}
	return New(fmt.Sprintf("rank %d", n), n, fmt.Sprintf("w%d", n), rec)
}

// TestNativeVerdict checks that C ranks are named like Python ranks, and that a wait in MPI counts
// as a wait, although it polls.
func TestNativeVerdict(t *testing.T) {
	inMPI := "TID 1:\n#0  0x1 opal_progress - /usr/lib/libopen-pal.so.40\n#1  0x1 PMPI_Allreduce - /usr/lib/libmpi.so.40\n#2  0x1 step - /app/train\n"
	for name, c := range map[string]struct {
		ranks []Rank
		want  string
	}{
		"a lock in C, and MPI that polls": {[]Rank{mpi(shown(0, "R", "eu-stack", inMPI)), mpi(shown(1, "S futex", "eu-stack", euStack))},
			"rank 0 on w0 is waiting in MPI_Allreduce in step; rank 1 on w1 is not waiting: waiting for a lock at train.c:6 ns::load(int, void (*)(int)). Look at rank 1 first."},
		"a stopped Python rank, by py-spy": {[]Rank{rank(0, "S futex", allReduce), shown(1, "T", "py-spy", pySpy)},
			"rank 0 on w0 is waiting in all_reduce at train.py:40 step; rank 1 on w1 is not waiting: stopped, as by SIGSTOP at train (1).py:31 one. Look at rank 1 first."},
		"MPI_Test is not a wait": {[]Rank{mpi(shown(0, "R", "gdb", strings.ReplaceAll(inMPI, "Allreduce", "Test"))), shown(1, "S clock_nanosleep", "gdb", gdb)}, ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, OfHang(c.ranks).Sentence) })
	}
}

// TestOperators checks that gdb's arguments of an operator are not taken for its name: they differ between ranks, and may
// be secrets.
func TestOperators(t *testing.T) {
	for _, name := range []string{"std::operator<< <std::char_traits<char> >", "ns::operator<", "operator<=", "A<int>::operator->", "operator>> <int>", "A<B>::operator()"} {
		threads := ParseNative([]byte("Thread 1 (LWP 7):\n#0  0x00007f in " + name + ` (out=..., text=0x5566 "secret") at /app/a.cc:7` + "\n"))
		require.Equal(t, []Thread{{Current: true, Frames: []Frame{{File: "/app/a.cc", Line: 7, Func: name, Native: true}}}}, threads)
	}
}

// TestMPIFunctions checks which functions of MPI wait for other ranks.
func TestMPIFunctions(t *testing.T) {
	for _, c := range []struct {
		waits bool
		names string
	}{
		{true, "Recv Send_c Rsend Sendrecv_replace Mrecv Waitall Bcast_c Allreduce Reduce_scatter_block Neighbor_alltoallv Scan_c Init_thread Comm_spawn Comm_accept Comm_split_type Comm_free"},
		{true, "Intercomm_create Cart_create Dist_graph_create_adjacent Win_create Win_allocate_shared Win_fence Win_complete Win_flush_all Win_free File_open File_write_at_all File_read_all_end File_close"},
		{false, "Test Testall Isend Irecv Ibarrier Iallreduce Iprobe Alloc_mem Reduce_local Comm_rank Comm_set_name Win_get_attr File_write_at File_iread Cart_coords Bsend Recv_init Bcast_init Allreduce_init"},
	} {
		for _, name := range strings.Fields(c.names) {
			want := ""
			if c.waits {
				want = "MPI_" + name
			}
			for _, prefix := range []string{"MPI_", "PMPI_"} {
				text := "TID 1:\n#0  0x1 poll - /lib/libc.so.6\n#1  0x1 " + prefix + name + " - /lib/libmpi.so.40\n#2  0x1 step - /app/train\n"
				require.Equal(t, want, shown(0, "R", "eu-stack", text).inMPI(), prefix+name)
			}
		}
	}
}

func TestNativeLines(t *testing.T) {
	same := shown(3, "S futex", "eu-stack", strings.ReplaceAll(euStack, "0x00007f9c9259f482", "0x00007f9c00000482"))
	require.Equal(t, []string{
		"rank 1 on w1: waiting for a lock at train.c:6 (anonymous namespace)::load<void (int)> (train, pid 41; futex; by gdb)",
		"  futex_wait at ../sysdeps/nptl/futex-internal.h:146",
		"  pthread_mutex_lock from /lib/x86_64-linux-gnu/libc.so.6",
		"  (anonymous namespace)::load<void (int)> at train.c:6",
		"  ?",
		"  main",
		"ranks 0, 3: waiting for a lock at train.c:6 ns::load(int, void (*)(int)) (train, pid 40; futex; by eu-stack)",
		"  __pthread_mutex_lock at ./nptl/pthread_mutex_lock.c:48",
		"  ? from /app/libmine.so.1",
		"  ns::load(int, void (*)(int)) at /app/train.c:6",
		"  main from /app/train",
		"  another thread:",
		"    poll",
	}, Lines([]Rank{shown(0, "S futex", "eu-stack", euStack), shown(1, "S futex", "gdb", gdb), same}, nil))
}

// TestRanksThatPollInMPIAreGrouped checks that ranks that poll in the same MPI function are one
// line, wherever below that function they are.
func TestRanksThatPollInMPIAreGrouped(t *testing.T) {
	const step = "#1  0x1 PMPI_Allreduce - /usr/lib/libmpi.so.40\n#2  0x1 step - /app/train\n"
	lines := Lines([]Rank{
		shown(0, "R", "eu-stack", "TID 1:\n#0  0x1 opal_progress - /usr/lib/libopen-pal.so.40\n"+step),
		shown(1, "S poll", "eu-stack", "TID 1:\n#0  0x1 poll - /lib/libc.so.6\n"+step),
	}, nil)
	require.Equal(t, "ranks 0, 1: waiting in MPI_Allreduce in step (train, pid 40; no system call; by eu-stack)", lines[0])
	require.Len(t, lines, 4)
}

func FuzzParsePrograms(f *testing.F) {
	for _, seed := range []string{euStack, gdb, pySpy, "TID 1:\n#0  0x1 f\x1b (a (b<c (d>) at x:1", "Thread 1\n#0  0x1 in f (a) from b\n    c:1\n    d (e:1)\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, threads := range [][]Thread{ParseNative(text), ParsePySpy(text)} {
			require.LessOrEqual(t, len(threads), mostThreads)
			for _, one := range threads {
				require.LessOrEqual(t, len(one.Frames), mostFrames)
			}
		}
		for _, by := range []string{"gdb", "py-spy"} {
			r := shown(0, "S futex", by, string(text))
			for _, line := range append(Lines([]Rank{r, r}, nil), OfHang([]Rank{r, rank(1, "S recvfrom", "")}).Sentence) {
				require.NotContains(t, line, "\x1b")
				require.NotContains(t, line, "\n")
			}
		}
	})
}

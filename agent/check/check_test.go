package check

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func limit(n int64) *wire.Limit { l := wire.Limit(n); return &l }

// healthy is a worker of a torch job that passes every check of a worker.
func healthy() (Job, Worker) {
	return Job{Ranks: 16, Framework: "torch", SharesMemory: true, Meet: "10.0.0.7"},
		Worker{Name: "w3", Node: "gpu-7", Ranks: 8, GPUs: 8, RDMA: 1, Facts: wire.FactsRecord{
			NowMillis: 1, Shm: &wire.Space{Path: "/dev/shm", Size: 8 << 30, Free: 8 << 30}, Disk: &wire.Space{Path: "/work", Size: 1 << 40, Free: 1 << 39},
			Memlock: limit(-1), OpenFiles: limit(1 << 20), Pids: limit(-1), Memory: limit(-1), CPU: limit(-1),
			Devices: map[string]int{"nvidia": 8, "rdma": 1}, Program: "/usr/bin/python3", Interpreter: "/usr/bin/env", LookupMillis: new(int64(1)),
		}}
}

// TestWorkerChecks makes each check of a worker warn, fail, be unknown and not apply, and checks
// that all others stay ok.
func TestWorkerChecks(t *testing.T) {
	for _, row := range []struct {
		check   string
		change  func(j *Job, w *Worker)
		verdict Verdict // "": the check does not apply
		found   string
	}{
		{"program", func(_ *Job, w *Worker) { w.Facts.Program, w.Facts.ProgramError = "", "/x: permission denied" }, Fail, "/x: permission denied"},
		{"program", func(_ *Job, w *Worker) { w.Facts.Program = "" }, "", ""},
		{"interpreter", func(_ *Job, w *Worker) {
			w.Facts.Program, w.Facts.InterpreterError = "/x", "/py: no such file or directory"
		}, Fail, "/x is a script, and its interpreter is missing: /py: no such file or directory"},
		{"interpreter", func(_ *Job, w *Worker) { w.Facts.Interpreter = "" }, "", ""},
		{"devices", func(_ *Job, w *Worker) { w.Facts.Devices["nvidia"] = 7 }, Fail, "the pod asks for 8 accelerators, and /dev has 7"},
		{"devices", func(_ *Job, w *Worker) { w.Facts.Devices = nil }, Unknown, "/dev cannot be read"},
		{"devices", func(_ *Job, w *Worker) { w.GPUs = 0 }, "", ""},
		{"rdma", func(_ *Job, w *Worker) { delete(w.Facts.Devices, "rdma") }, Fail, "the pod asks for 1 RDMA device, and /dev/infiniband has 0"},
		{"rdma", func(_ *Job, w *Worker) { w.Facts.Devices = nil }, Unknown, "/dev cannot be read"},
		{"rdma", func(_ *Job, w *Worker) { w.RDMA = 0 }, "", ""},
		{"memlock", func(_ *Job, w *Worker) { w.Facts.Memlock = limit(64 << 10) }, Fail, "locked memory is limited to 64Ki, and RDMA needs at least 16Mi"},
		{"memlock", func(_ *Job, w *Worker) { w.Facts.Memlock = limit(1 << 30) }, Warn, "locked memory is limited to 1.0Gi; RDMA registers every buffer that it sends"},
		{"memlock", func(_ *Job, w *Worker) { w.Facts.Memlock = nil }, Unknown, "the limit of locked memory cannot be read"},
		{"memlock", func(_ *Job, w *Worker) { w.RDMA, w.Facts.Memlock = 0, limit(1); delete(w.Facts.Devices, "rdma") }, "", ""},
		{"shm", func(_ *Job, w *Worker) { w.Facts.Shm = &wire.Space{Size: 64 << 20, Free: 64 << 20} }, Warn, "/dev/shm has 64Mi, the runtime's default, which ranks and data loaders use up"},
		{"shm", func(_ *Job, w *Worker) { w.Facts.Shm.Free = 1000 }, Fail, "/dev/shm is full: 1000 bytes of 8.0Gi free"},
		{"shm", func(_ *Job, w *Worker) { w.Facts.Shm = nil }, Unknown, "/dev/shm cannot be read"},
		{"shm", func(j *Job, w *Worker) {
			j.MPI, w.Facts.Shm = true, &wire.Space{Size: 64 << 20, Free: 64 << 20}
		}, OK, "/dev/shm has 64Mi free of 64Mi"},
		{"shm", func(j *Job, w *Worker) {
			j.MPI, w.Ranks, w.Facts.Shm = true, 9, &wire.Space{Size: 64 << 20, Free: 64 << 20}
		}, Warn, "/dev/shm has 64Mi free, and MPI can need 72Mi for 9 ranks"},
		{"shm", func(j *Job, w *Worker) { j.SharesMemory, w.Facts.Shm = false, nil }, "", ""},
		{"open-files", func(_ *Job, w *Worker) { w.Facts.OpenFiles = limit(159) }, Warn, "a process may open 159 files, and 16 ranks can need 160"},
		{"open-files", func(_ *Job, w *Worker) { w.Facts.OpenFiles = limit(160) }, OK, "160 open files"},
		{"open-files", func(_ *Job, w *Worker) { w.Facts.OpenFiles = nil }, Unknown, "the limit of open files cannot be read"},
		{"pids", func(_ *Job, w *Worker) { w.Facts.Pids, w.Facts.PidsUsed = limit(100), 69 }, Fail, "the container may have 31 more processes and threads, for 8 ranks"},
		{"pids", func(_ *Job, w *Worker) { w.Facts.Pids = limit(511) }, Warn, "the container may have 511 more processes and threads, for 8 ranks"},
		{"pids", func(_ *Job, w *Worker) { w.Facts.Pids = limit(512) }, OK, "the container may have 512 more processes and threads, for 8 ranks"},
		{"pids", func(_ *Job, w *Worker) { w.Facts.Pids = nil }, Unknown, "the limit of processes cannot be read"},
		{"cpu", func(_ *Job, w *Worker) { w.Facts.CPU = limit(1500) }, Warn, "the CPU limit is 1.5 for 8 ranks"},
		{"cpu", func(_ *Job, w *Worker) { w.Facts.CPU = limit(8000) }, OK, "the CPU limit is 8 for 8 ranks"},
		{"cpu", func(_ *Job, w *Worker) { w.Facts.CPU = nil }, Unknown, "the CPU limit cannot be read"},
		{"cpu", func(_ *Job, w *Worker) { w.Facts.CPU, w.Ranks = limit(1), 0 }, "", ""},
		{"memory", func(_ *Job, w *Worker) { w.Facts.Memory, w.Facts.MemoryUsed = limit(1<<30), 600<<20 }, Warn, "424Mi of 1.0Gi are left for 8 ranks"},
		{"memory", func(_ *Job, w *Worker) { w.Facts.Memory = limit(1 << 30) }, OK, "1.0Gi of 1.0Gi are left for 8 ranks"},
		{"memory", func(_ *Job, w *Worker) { w.Facts.Memory = nil }, Unknown, "the memory limit cannot be read"},
		{"disk", func(_ *Job, w *Worker) { w.Facts.Disk.Free = 0 }, Fail, "/work is full"},
		{"disk", func(_ *Job, w *Worker) { w.Facts.Disk.Free = 200 << 20 }, Warn, "/work has 200Mi free"},
		{"disk", func(_ *Job, w *Worker) { w.Facts.Disk = nil }, Unknown, "the working directory cannot be read"},
		{"disk", func(_ *Job, w *Worker) { w.Facts.Disk.Size, w.Facts.Disk.Free = 0, 0 }, "", ""},
		{"clock", func(_ *Job, w *Worker) { w.Ahead, w.Doubt = -1600*time.Millisecond, 500*time.Millisecond }, Warn, "the clock is 1.6 s behind the launcher's"},
		{"clock", func(_ *Job, w *Worker) { w.Ahead, w.Doubt = 1600*time.Millisecond, 700*time.Millisecond }, OK, "the clock agrees with the launcher's to within 2.3 s"},
		{"clock", func(_ *Job, w *Worker) { w.Ahead = time.Hour }, Fail, "the clock is 3600.0 s ahead of the launcher's"},
		{"clock", func(_ *Job, w *Worker) { w.Facts.NowMillis = 0 }, Unknown, "the worker did not tell its time"},
		{"names", func(_ *Job, w *Worker) { w.Facts.LookupMillis = new(int64(1000)) }, Warn, "the name server did not answer within 1 s for 10.0.0.7: each rank waits for it, usually 10 s"},
		{"names", func(_ *Job, w *Worker) { w.Facts.LookupMillis = new(int64(999)) }, OK, "the name server answers for 10.0.0.7 in 999 ms"},
		{"names", func(_ *Job, w *Worker) { w.Facts.LookupMillis = nil }, Unknown, "the worker did not say whether its name server answers"},
		{"names", func(j *Job, w *Worker) { j.Meet, w.Facts.LookupMillis = "", nil }, "", ""},
	} {
		t.Run(row.check+"/"+string(row.verdict), func(t *testing.T) {
			j, w := healthy()
			row.change(&j, &w)
			met := row.verdict == ""
			for _, f := range OfOne(j, w) {
				if f.Check != row.check {
					if f.Verdict != OK {
						// /dev and the number of ranks concern several checks.
						require.Contains(t, []Verdict{Unknown, Warn}, f.Verdict, f.Found)
					}
					continue
				}
				require.NotEmpty(t, row.verdict, "the check must not apply: %s", f.Found)
				met = true
				require.Equal(t, row.verdict, f.Verdict, f.Found)
				require.Equal(t, row.found, f.Found)
				require.Equal(t, "w3", f.Of)
				require.Equal(t, row.verdict != OK, f.Remedy != "")
			}
			require.True(t, met, "no finding of %s", row.check)
		})
	}
}

func TestHealthyWorkerPasses(t *testing.T) {
	found := OfOne(healthy())
	for _, f := range found {
		require.Equal(t, OK, f.Verdict, f.Found)
	}
	require.Len(t, found, len(workerChecks), "all checks apply")
	require.Equal(t, OK, Worst(found))
	require.Empty(t, Bad(found))
}

// TestFakeWorkersHaveNoLimitsOfTheirOwn checks that the limits of the user's machine are not taken
// for those of a pod.
func TestFakeWorkersHaveNoLimitsOfTheirOwn(t *testing.T) {
	j, w := healthy()
	w.Fake, w.GPUs, w.RDMA = true, 0, 0
	w.Facts.CPU, w.Facts.Memory, w.Facts.Pids, w.Facts.Shm.Free = limit(1), limit(1), limit(1), 0
	require.Equal(t, OK, Worst(OfOne(j, w)))
}

func TestAcross(t *testing.T) {
	worker := func(name, agent string, versions map[string]string) Worker {
		return Worker{Name: name, Agent: agent, Facts: wire.FactsRecord{Versions: versions}}
	}
	mpi := func(v string) map[string]string { return map[string]string{"MPI library": v} }
	for name, row := range map[string]struct {
		job     Job
		workers []Worker
		check   string
		verdict Verdict
		found   string
	}{
		"the same agent": {Job{Agent: "1"}, []Worker{worker("a", "1", nil), worker("b", "1", nil)}, "agent", OK, "the agent is 1 everywhere"},
		"two agents": {
			Job{Agent: "1"},
			[]Worker{worker("a", "1", nil), worker("b", "2", nil), worker("c", "1", nil), worker("d", "1", nil)},
			"agent", Warn, "the agent is 1 on a, c and 2 more, but 2 on b",
		},
		"two MPIs":      {Job{}, []Worker{worker("a", "", mpi("40.30.4")), worker("b", "", mpi("12.1.11")), worker("c", "", mpi("40.30.4"))}, "mpi", Fail, "MPI library is 40.30.4 on a and c, but 12.1.11 on b"},
		"two Open MPIs": {Job{}, []Worker{worker("a", "", mpi("40.30.4")), worker("b", "", mpi("40.20.2")), worker("c", "", mpi("40.30.4"))}, "mpi", Warn, "MPI library is 40.30.4 on a and c, but 40.20.2 on b"},
		"the launcher's MPI": {
			Job{MPI: true, LauncherMPI: "12.1.11"},
			[]Worker{worker("a", "", mpi("40.30.4")), worker("b", "", mpi("40.30.4"))},
			"mpi", Fail, "MPI library is 40.30.4 on a and b, but 12.1.11 on the launcher",
		},
		"an MPI that cannot be found": {Job{MPI: true}, []Worker{worker("a", "", mpi("40.30.4")), worker("b", "", nil)}, "mpi", OK, "MPI library is 40.30.4 everywhere"},
		"two torches": {
			Job{Packages: []string{"torch"}},
			[]Worker{worker("a", "", map[string]string{"torch": "2.6.0"}), worker("b", "", map[string]string{"torch": "2.5.1"})},
			"packages", Warn, "torch is 2.5.1 on b, but 2.6.0 on a",
		},
		"two Pythons": {Job{}, []Worker{worker("a", "", map[string]string{"Python": "3.11"}), worker("b", "", map[string]string{"Python": "3.12"})}, "python", Warn, "Python is 3.11 on a, but 3.12 on b"},
		"two drivers": {Job{}, []Worker{worker("a", "", map[string]string{"NVIDIA driver": "535"}), worker("b", "", map[string]string{"NVIDIA driver": "550"})}, "drivers", Warn, "NVIDIA driver is 535 on a, but 550 on b"},
		"two NCCLs":   {Job{}, []Worker{worker("a", "", map[string]string{"NCCL": "2.18"}), worker("b", "", map[string]string{"NCCL": "2.20"})}, "libraries", Warn, "NCCL is 2.18 on a, but 2.20 on b"},
	} {
		t.Run(name, func(t *testing.T) {
			met := false
			for _, f := range OfAllWorkers(row.job, row.workers) {
				if f.Check != row.check {
					continue
				}
				met = true
				require.Equal(t, row.verdict, f.Verdict)
				require.Equal(t, row.found, f.Found)
				require.Equal(t, row.verdict != OK, f.Remedy != "")
			}
			require.True(t, met)
		})
	}
}

// everyPair returns all pairs of n workers, each with a round trip and a rate.
func everyPair(n int, change func(p *Pair)) []Pair {
	var all []Pair
	for i := range n {
		for j := i + 1; j < n; j++ {
			p := Pair{From: "w" + string(rune('0'+i)), To: "w" + string(rune('0'+j)), RoundTrip: 100 * time.Microsecond, Rate: 1 << 30}
			p.RoundTrip += time.Duration(i+j) * time.Microsecond // some spread
			change(&p)
			all = append(all, p)
		}
	}
	return all
}

func TestPairs(t *testing.T) {
	with := func(p *Pair, w string) bool { return p.From == w || p.To == w }
	for name, row := range map[string]struct {
		pairs []Pair
		want  map[string]string // "check of: found" of findings that are not ok
	}{
		"none":    {nil, nil},
		"healthy": {everyPair(6, func(*Pair) {}), nil},
		"a worker that nobody reaches": {everyPair(6, func(p *Pair) {
			if with(p, "w2") {
				p.Error = "no answer"
			}
		}), map[string]string{"connect w2": "5 of its 5 connections with other workers failed: no answer"}},
		"two workers that nobody reaches": {everyPair(6, func(p *Pair) {
			if with(p, "w2") || with(p, "w4") {
				p.Error = "no answer"
			}
		}), map[string]string{"connect w2": "5 of its 5 connections with other workers failed: no answer", "connect w4": "5 of its 5 connections with other workers failed: no answer"}},
		"one pair": {everyPair(6, func(p *Pair) {
			if p.From == "w1" && p.To == "w4" {
				p.Error = "connection refused"
			}
		}), map[string]string{"connect w1 to w4": "no connection: connection refused"}},
		"two workers alone": {everyPair(2, func(p *Pair) { p.Error = "no answer" }), map[string]string{"connect w0 to w1": "no connection: no answer"}},
		"a worker far away": {everyPair(6, func(p *Pair) {
			if with(p, "w5") {
				p.RoundTrip += 20 * time.Millisecond
			}
		}), map[string]string{"round-trip w5": "its round trips take 20.1 ms at least, those of the others about 102 us"}},
		"a slow worker": {everyPair(6, func(p *Pair) {
			if p.From == "w3" {
				p.Rate /= 10
			}
		}), map[string]string{"throughput w3": "it sends 102Mi/s at most, the others about 1.0Gi/s"}},
		"a worker that is a bit slower": {everyPair(6, func(p *Pair) {
			if with(p, "w3") {
				p.Rate *= 0.7
			}
		}), nil},
		"three workers are too few to compare": {everyPair(3, func(p *Pair) {
			if with(p, "w2") {
				p.Rate /= 10
			}
		}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, f := range OfPairs(row.pairs, nil) {
				if f.Verdict != OK {
					got[f.Check+" "+f.Of] = f.Found
					require.NotEmpty(t, f.Remedy)
				}
			}
			if row.want == nil {
				row.want = map[string]string{}
			}
			require.Equal(t, row.want, got)
		})
	}
}

// TestOutliers checks which workers are to be measured again, and that a worker that was slow once is
// not named when all pairs are judged together.
func TestOutliers(t *testing.T) {
	pairs := everyPair(8, func(p *Pair) {
		if slices.ContainsFunc([]string{p.From, p.To}, func(w string) bool { return w == "w2" || w == "w3" }) {
			p.Rate /= 10
		}
	})
	require.Equal(t, []string{"w2", "w3"}, Outliers(OfPairs(pairs, nil)))
	require.Empty(t, Outliers([]Finding{{Check: "connect", Of: "a to b", Verdict: Fail}, {Check: "throughput", Verdict: OK}, {Check: "shm", Worker: "a", Verdict: Warn}}))
	again := []Pair{{From: "w2", To: "w0", RoundTrip: pairs[0].RoundTrip, Rate: 1 << 30}, {From: "w0", To: "w2", RoundTrip: pairs[0].RoundTrip, Rate: 1 << 30}, {From: "w3", To: "w1", RoundTrip: pairs[0].RoundTrip, Rate: 1 << 20}}
	require.Equal(t, []string{"w3"}, Outliers(OfPairs(append(pairs, again...), nil)))
}

func TestOrder(t *testing.T) {
	all := []Finding{{Check: "disk", Of: "b", Verdict: OK}, {Check: "disk", Of: "a", Verdict: Fail, Worker: "a"}, {Check: "shm", Of: "c", Verdict: Warn, Worker: "c"}, {Check: "program", Of: "a", Verdict: Fail, Worker: "a"}, {Check: "cpu", Verdict: Unknown}}
	Sort(all)
	var got []string
	for _, f := range all {
		got = append(got, f.Check+string(f.Verdict))
	}
	require.Equal(t, []string{"programfail", "diskfail", "shmwarn", "cpuunknown", "diskok"}, got)
	require.Equal(t, []string{"a"}, Bad(all))
	require.Equal(t, Fail, Worst(all))
}

// TestTable checks that every check has words, and a name of its own.
func TestTable(t *testing.T) {
	named := map[string]bool{}
	for _, c := range Table() {
		require.NotContains(t, slices.Collect(maps.Keys(named)), c.Name)
		named[c.Name] = true
		require.Regexp(t, `^[A-Z/].*\.$`, c.About, c.Name)
		require.NotEmpty(t, c.Of, c.Name)
		require.NotEmpty(t, c.Needs, c.Name)
		require.NotEmpty(t, c.Remedy, c.Name)
		require.False(t, strings.HasSuffix(c.Remedy, "."), c.Name)
	}
}

//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// culpritWay is a way to start ranks.
type culpritWay struct {
	name  string
	mpi   bool
	below bool // a launcher on each worker starts the ranks and reports how they ended
	// job runs the script in each rank, with each ranks on each of two workers.
	job func(t *testing.T, each int, flags []string, script string, starter string) []*job
}

// culpritCell is one cell of the matrix: a rank that fails, and the expected report.
type culpritCell struct {
	way      culpritWay
	moment   culpritMoment
	end      culpritEnd
	place    culpritPlace
	attempts int
}

func (c culpritCell) name() string {
	return fmt.Sprintf("%s/%s/%s/attempt %d", c.way.name, c.end.name, c.place.name, c.attempts)
}

// culpritEnd is how a rank ends.
type culpritEnd struct {
	name, does string
	code       int
	says       string
}

// culpritPlace selects the rank that ends.
type culpritPlace struct {
	name            string
	each            int // ranks on each worker
	rank, bystander int // bystander fails in the first of two attempts
}

var culpritEnds = []culpritEnd{
	{"code", "exit 3", 3, "exited with 3"},
	{"signal", "kill -SEGV $$", 139, "was killed by SIGSEGV"},
	{"oom", "exec tail /dev/zero", 137, "was killed by SIGKILL"},
}

var culpritPlaces = []culpritPlace{
	{"rank 0", 1, 0, 1},
	{"rank 1", 1, 1, 0},
	{"last of 4", 2, 3, 0},
}

// culpritMoment is when a rank ends.
type culpritMoment struct {
	name    string
	seconds int
	atOnce  int // cells at a time: a busy machine notices fewer ranks that end at once
}

var culpritMoments = []culpritMoment{{"30 s", 30, 100}, {"1 s", 1, 6}, {"at once", 0, 3}}

// bystanderSeconds is how long the rank that fails first in two attempts lives: long enough to be seen beside that
// many other cells.
func (m culpritMoment) bystanderSeconds() int { return max(1, m.seconds/6) }

// script returns what each rank runs. In the first of two attempts another rank fails. The other ranks end soon
// after, because Hydra does not end them for an exit code.
func (c culpritCell) script() string {
	text := "r=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$RANK}}\n"
	words := `echo "the last words of rank $r in attempt $MUSTER_ATTEMPT" >&2; `
	if c.attempts == 2 {
		text += fmt.Sprintf("if [ $MUSTER_ATTEMPT.$r = 0.%d ]; then sleep %d; %sexit 4; fi\n", c.place.bystander, c.moment.bystanderSeconds(), words)
	}
	return text + fmt.Sprintf("if [ $MUSTER_ATTEMPT.$r = %d.%d ]; then sleep %d; %s%s; fi\nexec sleep %d",
		c.attempts-1, c.place.rank, c.moment.seconds, words, c.end.does, c.moment.seconds+4)
}

// TestCulprit checks that the report names the rank that failed, with its worker and its end, and no rank that was
// ended afterwards. The report of an attempt stays when another attempt follows. The worker may not see an MPI rank
// that ends within milliseconds. Such a rank is named if its mpirun names it. Otherwise no rank is named.
func TestCulprit(t *testing.T) {
	var cells, good atomic.Int32
	ways, small := culpritWays(t), ""
	unnamed := map[string]*atomic.Int32{}
	for _, way := range ways {
		unnamed[way.name] = &atomic.Int32{}
	}
	smallContainers := func() string {
		if small == "" {
			small = containers(t)
		}
		return small
	}
	for _, moment := range culpritMoments {
		gate := make(chan struct{}, moment.atOnce)
		t.Run(moment.name, func(t *testing.T) {
			for _, c := range culpritCells(ways, moment) {
				starter := bin
				if c.end.name == "oom" {
					starter = smallContainers()
				}
				t.Run(c.name(), func(t *testing.T) {
					cells.Add(1)
					t.Parallel()
					gate <- struct{}{}
					defer func() { <-gate }()
					if !c.play(t, starter) {
						unnamed[c.way.name].Add(1)
					}
					good.Add(1)
				})
			}
		})
	}
	t.Logf("%d of %d cells", good.Load(), cells.Load())
	for _, way := range ways {
		if way.mpi {
			t.Logf("%s: in %d cells neither the worker nor mpirun reported the rank, and none was named", way.name, unnamed[way.name].Load())
		}
	}
}

// culpritCells returns the cells of a moment that are played.
func culpritCells(ways []culpritWay, moment culpritMoment) (cells []culpritCell) {
	for _, way := range ways {
		for _, end := range culpritEnds {
			for _, place := range culpritPlaces {
				for attempts := 1; attempts <= 2; attempts++ {
					if c := (culpritCell{way, moment, end, place, attempts}); isCulpritPlayed(c) {
						cells = append(cells, c)
					}
				}
			}
		}
	}
	return cells
}

// play runs the cell. It reports whether the culprit was named.
func (c culpritCell) play(t *testing.T, starter string) (named bool) {
	var flags []string
	if c.attempts == 2 {
		flags = []string{"--max-restarts=1", "--restart-on=any"}
	}
	var outcomes []outcome
	said := ""
	for _, j := range c.way.job(t, c.place.each, flags, c.script(), starter) {
		o := j.wait()
		outcomes, said = append(outcomes, o), said+o.out+o.err
	}
	named = true
	for _, o := range outcomes {
		if c.attempts == 2 {
			c.tells(t, o, said, 0, c.place.bystander, culpritEnd{code: 4, says: "exited with 4"})
		}
		named = c.tells(t, o, said, c.attempts-1, c.place.rank, c.end) && named
		require.Len(t, o.report.Attempts, c.attempts)
		code := c.end.code
		switch {
		case c.way.below:
			code = 1
		case !named:
			code = o.report.Attempts[c.attempts-1].Code // Hydra's code, which may be a success
			require.NotZero(t, code)
		}
		o.wants(t, code)
	}
	return named
}

// mpirunNames finds a rank in the messages of mpirun: of Open MPI 4 and 5, and of Intel MPI. MPICH's messages have
// none.
var mpirunNames = regexp.MustCompile(`noticed that process rank (\d+) with|Process name: \[\S+,(\d+)\]|=   RANK (\d+) PID`)

// tells requires that an attempt of a report names the rank and how it ended. It returns false if the attempt names
// no rank. That is allowed for an MPI rank that ends at once, unless mpirun itself has named it. said is all output
// of the job.
func (c culpritCell) tells(t *testing.T, o outcome, said string, attempt, rank int, end culpritEnd) bool {
	require.Greater(t, len(o.report.Attempts), attempt, "stderr: %s", tail(o.err))
	a := o.report.Attempts[attempt]
	what := fmt.Sprintf("attempt %d: %+v\nstderr: %s", attempt, a, tail(o.err))
	words := fmt.Sprintf("the last words of rank %d in attempt %d", rank, attempt)
	worker := c.worker(rank)
	switch {
	case c.way.below:
		require.Equal(t, 1, a.Code, what)
		require.Equal(t, worker, a.Worker, what)
		require.Contains(t, a.Words, words, what)
		require.Contains(t, a.Why, "on "+worker+" exited with 1", what)
		return true
	case c.way.mpi && a.Rank == "" && c.moment.seconds == 0 && attempt == c.attempts-1:
		require.NotRegexp(t, `\brank \d`, a.Why, what)
		for _, found := range mpirunNames.FindAllStringSubmatch(said, -1) {
			require.NotEqual(t, strconv.Itoa(rank), found[1]+found[2]+found[3], "mpirun has named the rank: %s\nall output: %s", what, said)
		}
		if c.end.name == "oom" {
			require.Equal(t, worker, a.Worker, what)
			require.Contains(t, a.Why, "worker "+worker+" ran out of memory", what)
		} else {
			require.Contains(t, []string{"", worker}, a.Worker, what)
		}
		return false
	}
	require.Equal(t, end.code, a.Code, what)
	require.Equal(t, "rank "+strconv.Itoa(rank), a.Rank, what)
	named := regexp.QuoteMeta(worker) + `: rank ` + strconv.Itoa(rank) + `, \S+ \(pid \d+\), ` + end.says
	switch {
	case !c.way.mpi:
		named = `rank ` + strconv.Itoa(rank) + ` on ` + regexp.QuoteMeta(worker) + ` ` + end.says
	case c.moment.seconds == 0 && attempt == c.attempts-1 && a.Worker == "": // Open MPI 5 reports no host
		named, worker = `rank `+strconv.Itoa(rank)+`( \(pid \d+\))? `+end.says+`, as \S+ reported`, ""
	case c.moment.seconds == 0 && attempt == c.attempts-1:
		named = regexp.QuoteMeta(worker) + `: rank ` + strconv.Itoa(rank) + `(, \S* ?\(pid \d+\),|( \(pid \d+\))?) ` + end.says + `(, as \S+ reported)?`
	}
	require.Equal(t, worker, a.Worker, what)
	require.Regexp(t, named, a.Why, what)
	require.Regexp(t, `(?m)^agent: .*`+named, o.err, what)
	for _, other := range regexp.MustCompile(`\brank (\d+)`).FindAllStringSubmatch(a.Why, -1) {
		require.Equal(t, strconv.Itoa(rank), other[1], "a rank that was ended by the failure is named: %s", what)
	}
	if end.code == 137 {
		require.Contains(t, a.Why, "(OOM)", what)
	}
	if c.way.mpi || c.way.name == "join" {
		require.Contains(t, said, words, what) // the rank's own output, which the report does not have
	} else {
		require.Contains(t, a.Words, words, what)
	}
	return true
}

// worker returns the name of a rank's worker.
func (c culpritCell) worker(rank int) string {
	if c.way.name == "join" {
		return "job-" + strconv.Itoa(rank/c.place.each)
	}
	return "127.0.0." + strconv.Itoa(2+rank/c.place.each)
}

// mpiWay runs mpirun in the launcher.
func mpiWay(name, mpirun string) culpritWay {
	return culpritWay{name: name, mpi: true, job: func(t *testing.T, each int, flags []string, script, starter string) []*job {
		flags = append([]string{"--fake=2", "--slots=" + strconv.Itoa(each)}, flags...)
		c := agentRun(t, flags, mpirun, "-n", strconv.Itoa(2*each), "sh", "-c", script)
		c.argv[0] = filepath.Join(starter, "agent")
		c.env = []string{"PATH=" + filepath.Dir(mpirun) + ":" + os.Getenv("PATH")}
		return []*job{start(t, c)}
	}}
}

// groupWays returns the ways in which Muster starts the processes itself.
func groupWays(t *testing.T) []culpritWay {
	standIn := laid(t, "torchrun.py")
	return []culpritWay{
		{name: "plain", job: func(t *testing.T, each int, flags []string, script, starter string) []*job {
			c := agentRun(t, append([]string{"--fake=2", "--framework=plain", "--procs-per-worker=" + strconv.Itoa(each)}, flags...), "sh", "-c", script)
			c.argv[0] = filepath.Join(starter, "agent")
			return []*job{start(t, c)}
		}},
		{name: "torchrun", below: true, job: func(t *testing.T, each int, flags []string, script, starter string) []*job {
			c := agentRun(t, append([]string{"--fake=2", "--framework=torchrun"}, flags...), "/usr/bin/python3", standIn, strconv.Itoa(each), "1", "sh", "-c", script)
			c.argv[0] = filepath.Join(starter, "agent")
			return []*job{start(t, c)}
		}},
		{name: "join", job: func(t *testing.T, each int, flags []string, script, starter string) []*job {
			address := "127.0.0.1:" + strconv.Itoa(freePort(t))
			var jobs []*job
			for rank := range 2 {
				argv := append([]string{filepath.Join(starter, "agent"), "join", "--report", filepath.Join(t.TempDir(), "report.json"), "--workers=2", "--rank=" + strconv.Itoa(rank),
					"--coordinator=" + address, "--procs-per-worker=" + strconv.Itoa(each)}, flags...)
				jobs = append(jobs, start(t, call{argv: append(argv, "--", "sh", "-c", script),
					env: []string{"MUSTER_TOKEN=0123456789abcdef-of-a-test", "MUSTER_POD_NAME=job-" + strconv.Itoa(rank)}}))
			}
			return jobs
		}},
	}
}

// TestLeftWithoutFinalize covers a rank of Open MPI that ends with 0 and without MPI_Finalize, so that mpirun kills
// the others. The message of mpirun names the first rank, and no other rank is blamed.
func TestLeftWithoutFinalize(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=2"}, "mpirun.openmpi", "-n", "2", families[0].program("act"), "exit", "0", "1", "1"))
	o.wants(t, 1)
	if !strings.Contains(o.err, "exiting improperly") { // the ends of the other ranks reached mpirun first
		require.Contains(t, o.err, "agent: which rank ended first is unknown; mpirun.openmpi exited with 1\n")
		return
	}
	require.Regexp(t, `(?m)^agent: (worker 127\.0\.0\.3: )?rank 1 \(pid \d+\) exited without MPI_Finalize, as mpirun.openmpi reported; mpirun.openmpi exited with 1$`, o.err)
	require.Equal(t, "rank 1", o.report.Attempts[0].Rank)
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/survey"
	"github.com/musterhq/muster/exec/wire"
)

// launcherIsHere reports whether a launcher runs here. A socket file alone proves nothing.
func launcherIsHere() bool {
	socket, err := rundir.Broker()
	if err == nil {
		_, err = rsh.Hosts(socket)
	}
	return err == nil
}

// askLauncher asks the launcher that runs here to check its workers again.
func askLauncher() ([]check.Finding, error) {
	socket, err := rundir.Broker()
	if err != nil {
		return nil, failure.Usage("run it beside agent run, as the same user; or give the name of a job", "no launcher runs here: %w", err)
	}
	lines, err := rsh.Doctor(socket)
	if err != nil { // also from a launcher of an older release, while the image was replaced
		return check.NotChecked("the launcher that runs here did not check its workers: "+err.Error(), "connect"), nil
	}
	found := make([]check.Finding, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &found[i]); err != nil {
			return nil, failure.New(names.ExitBug, "", "read the launcher's findings: %w", err)
		}
	}
	return found, nil
}

// workersHere returns the pods of the launcher's workers, and whether it finds them by these names.
func workersHere() (pods []string, byName bool) {
	if list := os.Getenv(names.EnvPods); list != "" {
		return strings.Split(list, ","), true
	}
	socket, err := rundir.Broker()
	if err != nil {
		return nil, false
	}
	planned, err := files.LoadPlan(socket)
	if err != nil {
		return nil, false // it still waits for its workers
	}
	for _, h := range planned.Hosts {
		pods = append(pods, h.Name)
	}
	return pods, false
}

// workerIsHere returns the name of the worker whose container this is, or "". Only processes of a
// session have it in a variable; kubectl exec finds the worker by its socket.
func workerIsHere() string {
	if name := os.Getenv(names.EnvWorker); name != "" {
		return name
	}
	socket, err := rundir.Find(names.WorkerSocket)
	if err != nil {
		return ""
	}
	defer socket.Close()
	c, err := socket.Dial()
	if err != nil {
		return "" // it has ended
	}
	c.Close()
	host, _ := os.Hostname() // a pod's name, unless it uses the network of its node
	return cmp.Or(os.Getenv(names.EnvPodName), host, "this worker")
}

// workerHere checks the container of a worker from inside. What its job needs is not known here.
func workerHere(ctx context.Context, worker string) ([]check.Finding, error) {
	facts, err := surveyHere(ctx, "")
	if err != nil {
		return nil, err
	}
	found := check.OfOne(check.Job{SharesMemory: true}, check.Worker{Name: worker, Facts: facts, Agent: build.Version(), Fake: os.Getenv(names.EnvFake) != ""})
	clock := check.NotChecked("there is no launcher here to compare the clock with", "clock")
	clock[0].Of = worker
	return append(without(found, "clock"), clock...), nil
}

// fakeHere checks this machine for n fake workers, which are processes here.
func fakeHere(ctx context.Context, n int) ([]check.Finding, error) {
	facts, err := surveyHere(ctx, "mpirun")
	if err != nil {
		return nil, err
	}
	const machine = "this machine"
	job, worker := check.Job{Ranks: n, SharesMemory: true}, check.Worker{Name: machine, Facts: facts, Ranks: n, Fake: true}
	found := without(check.OfOne(job, worker), "clock", "program")
	// Ranks of fake workers share the machine's memory like those of one worker.
	worker.Fake = false
	for _, f := range check.OfOne(job, worker) {
		if f.Check == "shm" {
			found = append(found, f)
		}
	}
	mpirun := check.Finding{Check: "program", Of: machine, Verdict: check.OK, Found: facts.Program}
	if facts.Program == "" {
		mpirun.Verdict, mpirun.Found, mpirun.Remedy = check.Warn, facts.ProgramError+"; only MPI programs need it", "install Open MPI or MPICH: apt-get install openmpi-bin"
	}
	return append(found, mpirun), nil
}

// surveyHere reads the facts of this container or machine, and looks up a program.
func surveyHere(ctx context.Context, program string) (wire.FactsRecord, error) {
	dir, err := os.Getwd()
	if err != nil {
		return wire.FactsRecord{}, failure.New(names.ExitBug, "", "find the working directory: %w", err)
	}
	return survey.Take(ctx, survey.Where{Root: "/", Env: os.Environ(), Dir: dir}, wire.AskFactsRecord{Command: program}), nil
}

// without removes the findings of checks that do not fit where they were made.
func without(found []check.Finding, checks ...string) (left []check.Finding) {
	for _, f := range found {
		fits := true
		for _, name := range checks {
			fits = fits && f.Check != name
		}
		if fits {
			left = append(left, f)
		}
	}
	return left
}

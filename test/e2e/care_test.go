//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/care"
)

const (
	careDir, careSources = "/care", "/care-sources" // in pods: the ranks' working directory, and the programs
	carePython           = "/usr/bin/python3"
)

// careWay is a way to stop a job in pods.
type careWay string

const (
	evictWorker careWay = "eviction of a worker"
	evictAll    careWay = "eviction of all pods" // as when a node is drained
	agentDelete careWay = "agent delete"
)

// careCell is a LaunchJob that is stopped while it works.
type careCell struct {
	program care.Program
	way     careWay
	member  bool   // the job has no launcher
	image   string // of images/
	workers int
	seconds int               // time that a checkpoint takes
	apart   int               // additional seconds for each lower rank
	period  int64             // terminationGracePeriodSeconds; 0: not set
	mounts  map[string]string // directories of this machine by their paths in the pods
	env     map[string]string // added to the environment of every cell
	// framework is the job's framework; "" means the program's.
	framework string
}

// place returns the name of the cell's column.
func (c careCell) place() string {
	if c.member {
		return "no launcher/" + string(c.way)
	}
	return "launcher/" + string(c.way)
}

func (c careCell) ranks() int { return c.workers * c.program.Each }

// grace returns the time that ranks have, as messages print it.
func (c careCell) grace() string {
	period := 30 * time.Second // the default of Kubernetes
	if c.period != 0 {
		period = time.Duration(c.period) * time.Second
	}
	return fmt.Sprintf("up to %.0f s for saving", names.Grace(period).Seconds())
}

// careSpace is a namespace for cells, with a directory of this machine for each of their jobs.
type careSpace struct {
	*space
	root  string // directory of the programs, with the jobs' directories below it
	agent string
}

func newCareSpace(t *testing.T) *careSpace {
	s := &careSpace{space: newSpaceWith(t, "privileged"), agent: cli(t)} // privileged, for volumes with files of the node
	s.root = filepath.Join("/var/tmp", s.name)
	require.NoError(t, os.MkdirAll(s.root, 0o755))
	t.Cleanup(func() { os.RemoveAll(s.root) })
	require.NoError(t, care.Lay(filepath.Join(s.root, "sources")))
	withController(t)
	return s
}

// job returns the cell as an object. It works in dir.
func (c careCell) job(t *testing.T, s *careSpace, name, dir string) *v1alpha1.LaunchJob {
	var command []string
	for _, word := range c.program.Command {
		command = append(command, strings.ReplaceAll(word, "@", careSources+"/"))
	}
	job := launchJob(t, name, command, withWorkers(int32(c.workers)))
	job.Spec.Framework = map[string]string{"": "mpi", "torchrun": "torch"}[c.program.Framework]
	if job.Spec.Framework == "" {
		job.Spec.Framework = c.program.Framework
	}
	if c.framework != "" {
		job.Spec.Framework = c.framework
	}
	job.Spec.Slots = 1
	worker := &job.Spec.Roles[0].Template.Spec
	pods := []*corev1.PodSpec{worker, &job.Spec.Launcher.Template.Spec}
	mounts := map[string]string{careDir: dir, careSources: filepath.Join(s.root, "sources")}
	for at, from := range c.mounts {
		mounts[at] = from
	}
	for _, pod := range pods {
		own := &pod.Containers[0]
		own.Image, own.WorkingDir = image(c.image), careDir
		own.Env = append(own.Env, corev1.EnvVar{Name: "CARE_SECONDS", Value: strconv.Itoa(c.seconds)},
			corev1.EnvVar{Name: "CARE_APART", Value: strconv.Itoa(c.apart)}, corev1.EnvVar{Name: "PYTHONDONTWRITEBYTECODE", Value: "1"})
		for name, value := range c.env {
			own.Env = append(own.Env, corev1.EnvVar{Name: name, Value: value})
		}
		if c.period != 0 {
			pod.TerminationGracePeriodSeconds = &c.period
		}
		directory := corev1.HostPathDirectory
		for at, from := range mounts {
			volume := strings.ReplaceAll(strings.Trim(at, "/"), "/", "-")
			volume = regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(volume, "-")
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: from, Type: &directory}}})
			own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: at, ReadOnly: at != careDir})
		}
	}
	if c.member {
		worker.Containers[0].Command = command
		job.Spec.Launcher = nil
	}
	return job
}

// play starts the cell's job, stops it, and checks the result. Every rank has written its checkpoint, and no helper
// ended before that. Every pod has ended by itself within its grace, and no process is left.
func (c careCell) play(t *testing.T, whole *careSpace, name string) {
	s := &careSpace{space: &space{t: t, name: whole.name}, root: whole.root, agent: whole.agent}
	dir := filepath.Join(s.root, name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chmod(dir, 0o777)) // pods run as another user
	there := func(file string, rank int) bool {
		_, err := os.Stat(filepath.Join(dir, file+"."+strconv.Itoa(rank)))
		return err == nil
	}
	s.apply(c.job(t, s, name, dir))
	for rank := range c.ranks() {
		require.Eventually(t, func() bool { return there("up", rank) }, 3*time.Minute, 50*time.Millisecond, "rank %d did not start", rank)
	}
	w := s.watchEnds(name, c)
	asked := time.Now()
	s.stop(name, c, w.pods())
	ends := w.wait(150 * time.Second)
	said := w.said()
	for rank := range c.ranks() {
		why, _ := os.ReadFile(filepath.Join(dir, "failed."+strconv.Itoa(rank)))
		require.False(t, there("failed", rank), "rank %d: %s\n%s", rank, why, said)
		require.True(t, there("saved", rank), "rank %d has no checkpoint\n%s", rank, said)
		require.False(t, there("asked", rank), "a loader of rank %d got a signal\n%s", rank, said)
	}
	var pods []corev1.Pod
	for _, end := range ends {
		pods = append(pods, end.pod)
		require.NotNil(t, end.state, "the watch missed the end of %s\n%s", end.pod.Name, said)
		require.NotEqual(t, int32(137), end.state.ExitCode, "%s was killed\n%s", end.pod.Name, said)
		if !end.until.IsZero() {
			require.True(t, end.state.FinishedAt.Time.Before(end.until), "%s ended at %s, after its grace ended at %s\n%s", end.pod.Name, end.state.FinishedAt, end.until, said)
		}
	}
	require.Empty(t, processesOf(t, pods), "left running\n%s", said)
	require.Contains(t, said, c.grace())
	took := time.Since(asked)
	t.Logf("all pods had ended %.1f s after the stop", took.Seconds())
	longest := c.seconds + c.apart*c.ranks()
	if c.way == evictWorker && c.program.Framework != "" && c.workers > 1 {
		longest *= 2 // the other ranks are stopped after those of the worker have ended
	}
	require.Less(t, took, time.Duration(longest+30)*time.Second, "the job must not wait when all ranks have saved\n%s", said)
}

// stop stops the job.
func (s *careSpace) stop(name string, c careCell, pods []corev1.Pod) {
	if c.way == agentDelete {
		end := s.space.agent(s.agent, time.Minute, "delete", name)
		require.Zero(s.t, end.code, end.err)
		return
	}
	for _, pod := range pods {
		if c.way == evictAll || pod.Name == name+"-worker-0" {
			s.evict(pod.Name)
		}
	}
}

// evict evicts a pod with the API server, as a drain does.
func (s *space) evict(pod string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, pod, s.name)
	_, err := kubectlCall{namespace: s.name, stdin: []byte(body)}.run("create", "--raw", "/api/v1/namespaces/"+s.name+"/pods/"+pod+"/eviction", "-f", "-")
	require.NoError(s.t, err)
}

// careCells plays cells, each in its own subtest, and prints the table.
func careCells(t *testing.T, cells []careCell) {
	s := newCareSpace(t)
	good := make([]string, len(cells)) // "" if the cell was not played
	t.Run("cells", func(t *testing.T) {
		for i, c := range cells {
			t.Run(c.program.Name+"/"+c.place(), func(t *testing.T) {
				t.Parallel()
				good[i] = "no"
				c.play(t, s, fmt.Sprintf("cell-%d", i))
				good[i] = "yes"
			})
		}
	})
	var text strings.Builder
	n, all := 0, 0
	for i, c := range cells {
		if good[i] == "" {
			continue
		}
		all++
		if good[i] == "yes" {
			n++
		}
		fmt.Fprintf(&text, "\n%-32s %-36s %s", c.program.Name, c.place(), good[i])
	}
	t.Logf("checkpoints written, pods ended by themselves, nothing left:%s\n%d of %d cells passed", text.String(), n, all)
}

// careFew returns the cells of make e2e.
func careFew() []careCell {
	fork := care.Programs(care.Tools{Python: carePython})[0]
	mpi := care.MPI("Open MPI 4", "mpirun", carePython)
	return []careCell{
		{program: fork, way: evictWorker, member: true, image: "openmpi", workers: 1, seconds: 2},
		{program: fork, way: evictWorker, image: "openmpi", workers: 2, seconds: 2},
		{program: fork, way: agentDelete, image: "openmpi", workers: 1, seconds: 2},
		{program: mpi, way: evictWorker, image: "openmpi", workers: 2, seconds: 2, apart: 3},
		{program: mpi, way: agentDelete, image: "openmpi", workers: 2, seconds: 2, apart: 3},
	}
}

// TestCareStopsFew checks that ranks write their checkpoints, whatever ends the job's pods.
func TestCareStopsFew(t *testing.T) { careCells(t, careFew()) }

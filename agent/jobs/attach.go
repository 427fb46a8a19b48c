package jobs

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

// Attach is an interactive command in one of a job's pods.
type Attach struct {
	Job       string
	Pod       string // by name; "": chosen by Rank
	Rank      *int   // nil: the launcher, or rank 0 if there is none
	Container string
	Launcher  bool     // only the launcher: a job without one is an error
	Argv      []string // empty: a shell
	In        *os.File
	Out, Err  *os.File
}

// aShell runs bash if the image has it, else sh.
const aShell = `command -v bash >/dev/null 2>&1 && exec bash; exec sh`

// Attach runs the command. An exit code other than 0 is a *terminal.ExitError.
func (a *API) Attach(ctx context.Context, at Attach) error {
	job, err := a.Job(ctx, at.Job)
	if err != nil {
		return err
	}
	if at.Launcher && job.Spec.Launcher == nil {
		return failure.New(names.ExitUsage, a.Line("attach "+at.Job+" --rank N")+" opens a shell in the pod of a rank, where py-spy or gdb may be",
			"%s has no launcher: only a launcher can ask all ranks", at.Job)
	}
	pods, err := a.pods(ctx, a.Namespace, at.Job)
	if err != nil {
		return a.explain(ctx, "list the pods of "+at.Job, err)
	}
	m, ok := at.choose(job, podsOf(at.Job, pods))
	if !ok {
		return failure.New(1, a.Line("get "+at.Job)+" lists its pods", "%s has no such running pod (%s)", at.Job, Sentence(job))
	}
	argv := at.Argv
	if len(argv) == 0 {
		argv = []string{"sh", "-c", aShell}
	}
	err = terminal.Run(ctx, a.config, terminal.Command{
		Namespace: a.Namespace, Pod: m.pod.Name, Container: m.container(at.Container), Argv: argv, In: at.In, Out: at.Out, Err: at.Err,
	})
	if denied(err) {
		return a.explain(ctx, "reach "+at.Job, err)
	}
	return err
}

// place returns the number of the pod in which Rank runs. Only mpirun knows where it puts its
// ranks, so with a launcher Rank counts pods.
func (at Attach) place(job *v1alpha1.LaunchJob) int {
	if job.Spec.Launcher != nil {
		return *at.Rank
	}
	return *at.Rank / procs(job)
}

// choose finds the requested pod if it runs. Another pod does not stand in for a launcher that does not
// run: a command for the launcher would answer there for one worker only.
func (at Attach) choose(job *v1alpha1.LaunchJob, all []jobPod) (jobPod, bool) {
	for _, m := range all {
		if m.pod.Status.Phase != corev1.PodRunning || m.pod.DeletionTimestamp != nil {
			continue
		}
		switch {
		case at.Pod != "":
			if m.pod.Name == at.Pod || m.name == at.Pod {
				return m, true
			}
		case at.Rank != nil:
			if m.rank >= 0 && m.rank == at.place(job) {
				return m, true
			}
		case m.role == names.RoleLauncher || m.rank == 0 && job.Spec.Launcher == nil:
			return m, true
		}
	}
	return jobPod{}, false
}

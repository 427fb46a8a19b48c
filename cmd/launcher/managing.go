package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/build"
)

// managing returns the verbs for jobs in a cluster. They work from any machine.
func managing(streams Streams) []*cobra.Command {
	return []*cobra.Command{
		newSubmit(streams), newList(streams), completesJobs(newGet(streams), false), completesJobs(newLogs(streams), false),
		completesJobs(newAttach(streams), false), completesJobs(newStacks(streams), false), completesJobs(newDoctor(streams), false), newTimeline(streams), completesJobs(newScale(streams), false),
		completesJobs(newDelete(streams), true), newPrune(streams), newTop(streams),
	}
}

// whereFlags adds kubectl's flags for cluster and namespace.
func whereFlags(set *pflag.FlagSet, w *jobs.Where) {
	set.StringVarP(&w.Namespace, "namespace", "n", "", "use `NAMESPACE` (default: the context's; in a pod, the pod's)")
	set.StringVar(&w.Context, "context", "", "use kubeconfig `CONTEXT`")
	set.StringVar(&w.Kubeconfig, "kubeconfig", "", "read kubeconfig `FILE` (default: $KUBECONFIG, ~/.kube/config; in a pod, its service account)")
}

// open finds the cluster.
func open(w jobs.Where) (*jobs.API, error) {
	w.UserAgent = "muster-cli/" + build.Version()
	return jobs.Open(w)
}

// sayer returns a function that reports progress on stderr.
func sayer(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(w, "agent: %s\n", failure.Visible(fmt.Sprintf(format, args...)))
	}
}

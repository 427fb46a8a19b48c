package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/controller"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
)

// parse reads the command line. Before it returns an error, it prints the error to complaints, or
// the help to help for flag.ErrHelp.
func parse(args []string, help, complaints io.Writer) (controller.Options, error) {
	o := controller.Options{Version: build.Version()}
	set := flag.NewFlagSet("controller", flag.ContinueOnError)
	namespaces := set.String("namespaces", os.Getenv("MUSTER_NAMESPACES"), "serve these `NAMESPACES` only, as in a,b (default: all)")
	set.StringVar(&o.AgentImage, "agent-image", os.Getenv("MUSTER_AGENT_IMAGE"), "the `IMAGE` that brings the agent into jobs with agent.delivery init or imageVolume")
	set.UintVar(&o.MaxWorkers, "max-workers", 0, "make no pods for jobs with more than `N` workers (default: the CRD's 10000)")
	set.BoolVar(&o.LeaderElection, "leader-elect", false, "be one of several, of which one works")
	set.StringVar(&o.LeaseNamespace, "lease-namespace", "", "`NAMESPACE` of the leader's lease (default: the pod's own)")
	set.StringVar(&o.MetricsAddress, "metrics-addr", ":8080", "serve metrics at `ADDRESS`; 0: none")
	set.StringVar(&o.ProbeAddress, "probe-addr", ":8081", "serve /healthz and /readyz at `ADDRESS`; 0: none")
	set.StringVar(&o.ProgressAddr, "progress-addr", "0", "take progress reports of jobs at `ADDRESS`, as in :8443; 0: none")
	set.Var(&o.Serve, "serve-kubeflow", "run labeled objects of Kubeflow's kinds in place: on, off, or dry-run (default off), see docs/moving/kubeflow.md")
	err := failure.ParseFlags("controller", set, args, "MUSTER_NAMESPACES", "MUSTER_AGENT_IMAGE", names.EnvLogFormat)
	if errors.Is(err, flag.ErrHelp) {
		set.SetOutput(help)
		set.PrintDefaults()
		return o, err
	}
	failure.ComplainAs(complaints, "controller", err)
	o.Namespace = ownNamespace(o.LeaseNamespace)
	o.Namespaces = strings.FieldsFunc(*namespaces, func(r rune) bool { return r == ',' || r == ' ' })
	return o, err
}

// ownNamespace returns the namespace of the controller's pod, which its account names; elsewhere it
// is that of the lease.
func ownNamespace(lease string) string {
	if text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		return strings.TrimSpace(string(text))
	}
	return lease
}

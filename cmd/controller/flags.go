package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/musterhq/muster/agent/controller"
)

// parse reads the command line; what is wrong with it has been said when it
// returns an error.
func parse(args []string, out io.Writer) (controller.Options, error) {
	o := controller.Options{Version: version()}
	set := flag.NewFlagSet("controller", flag.ContinueOnError)
	set.SetOutput(out)
	namespaces := set.String("namespaces", os.Getenv("MUSTER_NAMESPACES"), "serve these `NAMESPACES` only, as in a,b (default: all)")
	set.StringVar(&o.AgentImage, "agent-image", os.Getenv("MUSTER_AGENT_IMAGE"), "the `IMAGE` that brings the agent into jobs with agent.delivery init or imageVolume")
	set.BoolVar(&o.LeaderElection, "leader-elect", false, "be one of several, of which one works")
	set.StringVar(&o.LeaseNamespace, "lease-namespace", "", "`NAMESPACE` of the leader's lease (default: the pod's own)")
	set.StringVar(&o.MetricsAddress, "metrics-addr", ":8080", "serve metrics at `ADDRESS`; 0: none")
	set.StringVar(&o.ProbeAddress, "probe-addr", ":8081", "serve /healthz and /readyz at `ADDRESS`; 0: none")
	set.Var(&o.Serve, "serve-kubeflow", "run labelled objects of Kubeflow's kinds in place: on, off, or dry-run (default off), see docs/kubeflow.md")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 {
		err := fmt.Errorf("it takes flags only, and got %q", set.Arg(0))
		fmt.Fprintf(out, "controller: %v\nhint: controller --help lists them\n", err)
		return o, err
	}
	o.Namespaces = strings.FieldsFunc(*namespaces, func(r rune) bool { return r == ',' || r == ' ' })
	return o, nil
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.Trim(info.Main.Version, "()")
}

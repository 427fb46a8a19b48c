//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"

	prepare "github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/test/suite/page"
)

// writeList writes the list of tested ways to the page at path. It has the ways that CI tests, the
// ones that `make frameworks` tests, and those for which Muster only sets the environment.
func writeList(path string, all []row, results []result) error {
	return page.Put(path, "frameworks", list(all, results))
}

// prepared returns the ways for which Muster sets the environment, but that have no row.
func prepared() []string {
	return []string{
		"`python -m paddle.distributed.launch`", "`accelerate launch` with GPUs",
		"MXNet with a scheduler's pod of its own",
		"`--compat=kubeflow-v1` (held to the operator's own output instead)", "anything with GPUs",
	}
}

// list returns the text of the list.
func list(all []row, results []result) string {
	var inCI, byHand ways
	var never []string
	ran := map[string]bool{"plain": true} // covered by the tests of agent run itself
	for _, r := range all {
		var places []string
		for _, res := range results {
			if res.Key == r.key && res.Result == passed {
				places = append(places, map[string]string{"fake": "fake workers", "cluster": "pods"}[res.Where])
			}
		}
		switch {
		case len(places) == 0:
			never = append(never, r.framework+", "+r.way)
			continue
		case r.ci && slices.Contains(places, "pods"):
			inCI.add(r.framework, r.way)
		case len(places) == 1:
			byHand.add(r.framework, r.way+" ("+places[0]+" only)")
		default:
			byHand.add(r.framework, r.way)
		}
		ran[r.name()] = true
	}
	inCI.add("Open MPI 4.1, MPICH 4.0", "in `make e2e`")
	for _, family := range []string{"openmpi", "mpich", "intelmpi"} {
		ran[family] = ran[family] || ran["mpi"] // the name for all of them
	}
	for _, name := range prepare.Names() {
		if !ran[name] && name != prepare.Auto {
			never = append(never, "`--framework="+name+"`")
		}
	}
	return fmt.Sprintf("Run in our CI, as pods:\n\n%s\nRun by `make frameworks`, on fake workers and as pods:\n\n%s\nEnvironment only, never run by us: %s.\n",
		inCI.String(), byHand.String(), strings.Join(append(never, prepared()...), "; "))
}

// ways are lists of ways to launch, by framework, in the order of the rows.
type ways struct {
	frameworks []string
	of         map[string][]string
}

func (w *ways) add(framework, way string) {
	if w.of == nil {
		w.of = map[string][]string{}
	}
	if len(w.of[framework]) == 0 {
		w.frameworks = append(w.frameworks, framework)
	}
	w.of[framework] = append(w.of[framework], way)
}

// String returns the lists as Markdown.
func (w *ways) String() string {
	var b strings.Builder
	for _, f := range w.frameworks {
		fmt.Fprintf(&b, "- %s: %s\n", f, strings.Join(w.of[f], "; "))
	}
	return b.String()
}

// name returns the row's --framework, or the framework that agent run would detect.
func (r row) name() string {
	for _, flag := range r.flags {
		if name, ok := strings.CutPrefix(flag, "--framework="); ok {
			return name
		}
	}
	return prepare.Detect(r.argv)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// status prints one line for each component: whether it runs, its pid, its resident memory. It is an error when
// something does not run or a node is not Ready.
func (c cluster) status(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "COMPONENT\tSTATE\tPID\tMEMORY\tLOG")
	complete := true
	for _, name := range controlPlane() {
		i, _, ok := c.running(name)
		complete = ok && complete
		statusLine(w, name, i, ok, c.logFile(name))
	}
	a, apiErr := c.api()
	for _, n := range nodes() {
		init, _, ok := c.running(n.name)
		complete = ok && complete
		statusLine(w, n.name, init, ok, c.logFile(n.name))
		if !ok {
			continue
		}
		running := programs(init)
		for _, p := range c.nodePrograms(n) {
			i, ok := running[p.name]
			complete = ok && complete
			statusLine(w, "  "+p.name, i, ok, p.log)
		}
		ready, why := false, "the API server's keys are missing"
		if apiErr == nil {
			var err error
			if ready, why, err = a.condition(n.name); err != nil {
				why = err.Error()
			}
		}
		complete = ready && complete
		fmt.Fprintf(w, "  Ready\t%v\t\t\t%s\n", ready, why)
	}
	w.Flush()
	if !complete {
		return errors.New("not everything runs: `up` starts what is missing")
	}
	fmt.Fprintf(out, "\n   export KUBECONFIG=%s\n", c.kubeconfig())
	return nil
}

func statusLine(w io.Writer, name string, i identity, ok bool, log string) {
	if !ok {
		fmt.Fprintf(w, "%s\tdoes not run\t\t\t%s\n", name, log)
		return
	}
	state := "runs"
	if s, err := readStat(i.pid); err == nil && s.state == 'T' {
		state = "stopped"
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", name, state, i.pid, residentMemory(i.pid), log)
}

func residentMemory(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return fmt.Sprintf("%d MiB", kib>>10)
		}
	}
	return ""
}

package launch

import (
	"bytes"
	"fmt"
	"os"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/reap"
)

// starterAbove returns the nearest starter above a process of the command, nil for none. pdsh
// is one only where it is the command itself: a script has its own reasons to call it.
func starterAbove(pid int, pdsh bool) (by tally.Launcher, says framework.Starter) {
	var buf bytes.Buffer
	for range mostAbove {
		p, err := reap.Stat(pid, &buf)
		if err != nil || pid == os.Getpid() {
			break
		}
		argv := argvOf(pid)
		one, found := framework.StarterIn(argv)
		if !found && pdsh && framework.IsProgram(argv, config.Pdsh) {
			one, found = framework.Starter{Name: config.Pdsh}, true
		}
		switch {
		case found && by == nil:
			by, says = heldMPIRun{p, reap.OpenPidfd(pid)}, one
		case found:
			says.Trials = says.Trials || one.Trials
		}
		pid = p.PPID
	}
	return by, says
}

// argvOf returns the arguments of a process, nil for one that has ended.
func argvOf(pid int) (argv []string) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return nil
	}
	for word := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
		argv = append(argv, string(word))
	}
	return argv
}

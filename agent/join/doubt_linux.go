package join

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/reap"
)

// Times of the search for a torchrun that a script hides: first soon, then rarely. torchrun takes
// seconds to start.
const (
	firstDoubt = time.Second
	lastDoubt  = 10 * time.Second
)

// doubt looks for a torchrun that forms a group of its own on this member. The zero value looks for
// none.
type doubt struct {
	find  func() ([]reap.Proc, error) // the processes of the attempt; nil: do not look
	next  time.Time
	pause time.Duration
}

// doubtOf returns a doubt if nothing is known about the command. A user who names a framework may
// want a group on each member.
func (c Config) doubtOf(find func() ([]reap.Proc, error)) doubt {
	known := c.Framework != "" && c.Framework != framework.Auto || c.Compat != "" || framework.Detect(c.Command) != "" || len(c.below()) > 0
	if c.Workers < 2 || known {
		return doubt{}
	}
	return doubt{find: find, next: time.Now().Add(firstDoubt), pause: firstDoubt}
}

// look returns the name of such a torchrun and its option, once, if it is time to look. Otherwise
// it returns "".
func (d *doubt) look(now time.Time) string {
	if d.find == nil || now.Before(d.next) {
		return ""
	}
	d.next, d.pause = now.Add(d.pause), min(2*d.pause, lastDoubt)
	procs, err := d.find()
	if err != nil {
		return "" // the next look may succeed
	}
	for _, p := range procs {
		if name := framework.LoneIn(argvAndEnv(p.PID)); name != "" {
			d.find = nil
			return name
		}
	}
	return ""
}

// argvAndEnv reads the arguments and the environment of a process. What cannot be read is nil.
func argvAndEnv(pid int) (argv, env []string) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, nil
	}
	var buf bytes.Buffer
	if reap.Environ(pid, &buf) == nil && buf.Len() > 0 {
		env = strings.Split(strings.TrimSuffix(buf.String(), "\x00"), "\x00")
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), env
}

// doubts reports that a script's torchrun does not take part in the job.
func (m *member) doubts() {
	if m.crew == nil || m.clearing != nil {
		return
	}
	if name := m.crew.doubt.look(time.Now()); name != "" {
		way := "without that option, its environment describes the members"
		if name == "torchrun" {
			way = "its environment lacks PET_NNODES and similar variables, which describe the members"
		}
		m.say("%s", fmt.Sprintf("%s starts a separate job on each of the %d members; %s", name, m.cfg.Workers, way))
	}
}

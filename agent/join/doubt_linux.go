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

// A torchrun that a script hides is looked for among the processes: soon, and then seldom. It
// takes seconds to begin.
const (
	firstDoubt = time.Second
	lastDoubt  = 10 * time.Second
)

// doubt looks for a torchrun that forms a group of its own on this member. The zero value
// looks for none.
type doubt struct {
	find  func() ([]reap.Proc, error) // the attempt's processes; nil: nothing is looked for
	next  time.Time
	pause time.Duration
}

// doubtOf is for a command of which nothing is known. A user who gives a framework may mean
// a group on each member.
func (c Config) doubtOf(find func() ([]reap.Proc, error)) doubt {
	known := c.Framework != "" && c.Framework != framework.Auto || c.Compat != "" || framework.Detect(c.Command) != "" || len(c.below()) > 0
	if c.Workers < 2 || known {
		return doubt{}
	}
	return doubt{find: find, next: time.Now().Add(firstDoubt), pause: firstDoubt}
}

// look returns the name of such a torchrun and its option, once, if it is time to look; else "".
func (d *doubt) look(now time.Time) string {
	if d.find == nil || now.Before(d.next) {
		return ""
	}
	d.next, d.pause = now.Add(d.pause), min(2*d.pause, lastDoubt)
	procs, err := d.find()
	if err != nil {
		return "" // the next look may have more luck
	}
	for _, p := range procs {
		if name := framework.LoneIn(argvAndEnv(p.PID)); name != "" {
			d.find = nil
			return name
		}
	}
	return ""
}

// argvAndEnv reads the arguments of a process and its environment, nil for what cannot be read.
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

// doubts says that a script's torchrun does not take part in the job.
func (m *member) doubts() {
	if m.crew == nil || m.clearing != nil {
		return
	}
	if name := m.crew.doubt.look(time.Now()); name != "" {
		way := "without that option it is told the members by its environment"
		if name == "torchrun" {
			way = "its environment lacks PET_NNODES and the like, which tell it the members"
		}
		m.say("%s", fmt.Sprintf("%s is a job of its own on each of the %d members; %s", name, m.cfg.Workers, way))
	}
}

package plan

import (
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
)

// portRest is how long a port that was used cannot be bound in some frameworks:
// the kernel keeps its closed connections for a minute (tcp(7), TIME_WAIT).
const portRest = time.Minute

// Ports gives each attempt of a run a block of framework.PortBlock ports. No block
// is given out twice as long as there is another, and none within portRest of its
// last use.
type Ports struct {
	first int
	left  []time.Time // by block: when its attempt had ended; zero: never used
	at    int         // the present block
	begun bool        // there is one
}

// NewPorts takes --port for the first block, and those above it for the attempts
// after it. Else the blocks lie below the kernel's ephemeral ports, at a place of
// their own for each run: another launcher may have used these workers a moment
// ago. random returns a number from 0 to n-1.
func NewPorts(port int, random func(n int) int) *Ports {
	if port != 0 {
		return &Ports{first: port, left: make([]time.Time, config.PortBlocks(port)), at: -1}
	}
	n := (lastPort - firstPort) / framework.PortBlock
	return &Ports{first: firstPort + random(framework.PortBlock), left: make([]time.Time, n), at: random(n)}
}

// Next gives the next attempt its first port, and how long to wait before it may
// be used.
func (p *Ports) Next(now time.Time) (port int, wait time.Duration) {
	if p.begun {
		p.left[p.at] = now
	}
	p.begun = true
	p.at = (p.at + 1) % len(p.left)
	if last := p.left[p.at]; !last.IsZero() {
		wait = max(0, portRest-now.Sub(last))
	}
	return p.first + p.at*framework.PortBlock, wait
}

// Ports of an attempt are taken from below the kernel's ephemeral ones (32768 and
// up), anew each time: one that was used a minute ago cannot be bound.
const (
	firstPort = 20000
	lastPort  = 30000
)

// AnyPort is the port that the user has given, not 0, else one of those for attempts.
func AnyPort(given int, random func(n int) int) int {
	if given != 0 {
		return given
	}
	return firstPort + random(lastPort-firstPort+1)
}

package plan

import (
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
)

// portRest is how long some frameworks cannot bind a used port again. The kernel keeps its closed
// connections for a minute (tcp(7), TIME_WAIT).
const portRest = time.Minute

// Ports gives each attempt of a run a block of framework.PortBlock ports. It reuses a block only if
// no other is left, and never within portRest of its last use.
type Ports struct {
	first int
	left  []time.Time // end of each block's attempt; zero: never used
	at    int         // index of the current block
	begun bool        // there is a current block
}

// NewPorts starts with --port for the first block, and takes the blocks above it for later
// attempts. Without --port, the blocks lie below the kernel's ephemeral ports. Each run starts at a
// random block, because another launcher may have just used these workers. random returns a number
// from 0 to n-1.
func NewPorts(port int, random func(n int) int) *Ports {
	if port != 0 {
		return &Ports{first: port, left: make([]time.Time, config.PortBlocks(port)), at: -1}
	}
	n := (lastPort - firstPort) / framework.PortBlock
	return &Ports{first: firstPort + random(framework.PortBlock), left: make([]time.Time, n), at: random(n)}
}

// Next returns the first port of the next attempt, and how long to wait before it can be used.
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

// The ports of an attempt lie below the kernel's ephemeral ones (32768 and up). Each attempt takes
// new ports, because a port that was used within the last minute cannot be bound.
const (
	firstPort = 20000
	lastPort  = 30000
)

// AnyPort returns the port that the user has given, or if that is 0 a random one from the range for
// attempts.
func AnyPort(given int, random func(n int) int) int {
	if given != 0 {
		return given
	}
	return firstPort + random(lastPort-firstPort+1)
}

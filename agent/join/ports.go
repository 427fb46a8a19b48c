package join

import (
	"math/rand/v2"

	"github.com/musterhq/muster/agent/framework"
)

// Blocks of ports are below the kernel's ephemeral ports (32768 and up).
const (
	firstPort = 20000
	blocks    = 11
)

// ports gives each attempt a block that the last ten attempts did not use, because a port cannot be
// bound again within a minute of its last use.
type ports struct {
	first int // --port; 0: chosen
	order []int
	next  int
}

// newPorts avoids the block that a former coordinator used last.
func newPorts(first, used int) *ports {
	p := &ports{first: first, order: rand.Perm(blocks)}
	if used != 0 && first == 0 {
		for i, block := range p.order {
			if firstPort+block*framework.PortBlock == used {
				p.order[i], p.order[blocks-1] = p.order[blocks-1], block // it comes last
			}
		}
	}
	if first != 0 && used >= first {
		p.next = (used-first)/framework.PortBlock + 1
	}
	return p
}

// take returns the first port of the next attempt's block. If the user gave a port, the following
// blocks come after it as far as possible, then start over.
func (p *ports) take() int {
	n := p.next
	p.next++
	if p.first != 0 {
		room := (1<<16 - p.first) / framework.PortBlock
		return p.first + n%room*framework.PortBlock
	}
	return firstPort + p.order[n%blocks]*framework.PortBlock
}

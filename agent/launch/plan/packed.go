package plan

import "github.com/musterhq/muster/exec/wire"

// longAssignment is worth being packed, in bytes.
const longAssignment = 1 << 10

// Packed has the long assignments that were met; those met twice are packed, once for
// all processes that have them.
type Packed map[string]*wire.Packed

// Apart takes what other processes have too out of an environment, but for its first
// so many assignments: the user's, the last of which with one name counts.
func (k Packed) Apart(env []string, users int) (rest []string, apart []*wire.Packed, err error) {
	rest = env[:users:users]
	for _, a := range env[users:] {
		if len(a) < longAssignment {
			rest = append(rest, a)
			continue
		}
		p, met := k[a]
		if met && p == nil {
			if p, err = wire.Pack(a); err != nil {
				return nil, nil, err
			}
		}
		if k[a] = p; p == nil {
			rest = append(rest, a)
			continue
		}
		apart = append(apart, p)
	}
	return rest, apart, nil
}

// GatherMillis is how long little output of one of so many processes waits for more:
// all of them together send 2,500 pieces a second at most, however many lines these
// have, up to a thousand of them; beyond, none waits longer than 0.4 s, since people
// read these lines. Fewer than 50 wait for nothing.
func GatherMillis(processes int) int {
	if ms := processes * 2 / 5; ms >= 20 {
		return min(ms, 400)
	}
	return 0
}

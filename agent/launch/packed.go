package launch

import "github.com/musterhq/muster/exec/wire"

// longAssignment is worth being packed, in bytes.
const longAssignment = 1 << 10

// packed has the long assignments that were met; those met twice are packed, once for
// all processes that have them.
type packed map[string]*wire.Packed

// apart takes what other processes have too out of an environment, but for its first
// so many assignments: the user's, the last of which with one name counts.
func (k packed) apart(env []string, users int) (rest []string, apart []*wire.Packed, err error) {
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

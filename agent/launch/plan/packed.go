package plan

import "github.com/musterhq/muster/exec/wire"

// longAssignment is the length from which packing an assignment pays off, in bytes.
const longAssignment = 1 << 10

// Packed holds the long assignments seen so far. An assignment that is seen twice is packed, once
// for all processes that have it.
type Packed map[string]*wire.Packed

// Apart splits env: apart holds the long assignments that other processes have too, and rest holds
// the others. The first users assignments are the user's and stay in rest, because the last one of
// a name counts.
func (k Packed) Apart(env []string, users int) (rest []string, apart []*wire.Packed, err error) {
	rest = append(make([]string, 0, len(env)), env[:users]...)
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

// GatherMillis returns the output batching delay for this number of processes, in milliseconds. It
// caps the output of the job at 2,500 frames per second for up to 1,000 processes. The delay is at
// most 0.4 s, because people read these lines. It is 0 below 50 processes.
func GatherMillis(processes int) int {
	if ms := processes * 2 / 5; ms >= 20 {
		return min(ms, 400)
	}
	return 0
}

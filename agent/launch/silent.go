//go:build linux

package launch

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
)

// loseSilent gives up workers that gave no sign of life although a failed
// command's launcher looked for one all through verdictWait, and the pods'
// status tells nothing either. When nobody answers it is the API server that is
// away, and no worker's fault.
func (s *supervisor) loseSilent(all map[string]fleet.Standing) {
	var silent []fleet.Standing
	for _, st := range all {
		if st.State.Linked && !st.State.Connected && !st.State.Parked {
			silent = append(silent, st)
		}
	}
	if len(silent) == len(all) {
		return
	}
	for _, st := range silent {
		cause := fmt.Sprintf("no sign of life for %s", phrase.Seconds(verdictWait))
		if st.State.Last != nil {
			cause += ": " + phrase.OneLine(st.State.Last)
		}
		s.lose(verdict.Lost{Worker: st.Worker.Name, Cause: cause})
	}
}

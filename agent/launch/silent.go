//go:build linux

package launch

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
)

// loseSilent gives up workers that gave no sign of life although a failed
// command's launcher looked for one all through verdictWait, and the pods'
// status tells nothing either. When nobody answers it is the API server that is
// away, and no worker's fault.
func (s *supervisor) loseSilent() {
	all := s.links.standings()
	var silent []standing
	for _, st := range all {
		if st.state.Linked && !st.state.Connected && !st.state.Parked {
			silent = append(silent, st)
		}
	}
	if len(silent) == len(all) {
		return
	}
	for _, st := range silent {
		cause := fmt.Sprintf("no sign of life for %s", phrase.Seconds(verdictWait))
		if st.state.Last != nil {
			cause += ": " + phrase.OneLine(st.state.Last)
		}
		s.lose(verdict.Lost{Worker: st.worker.Name, Cause: cause})
	}
}

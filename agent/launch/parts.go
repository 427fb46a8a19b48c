//go:build linux

package launch

import (
	"context"

	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/show"
)

// Parts holds the parts of a run that have two implementations. OverPods and OverFakes choose where
// the workers are, and WithElastic which of them take part.
type Parts struct {
	show.Site
	open    func(r *runner, ctx, working context.Context) error // makes the fleet
	members func(*runner) membership
}

// OverPods returns the parts of a run over pods of a cluster.
func OverPods() Parts {
	return Parts{Site: show.Site{Ground: files.Pods{}, List: fleet.ListPods}, open: (*runner).findCluster, members: withFixed}
}

// OverFakes returns the parts of a run over worker processes on this machine.
func OverFakes() Parts {
	return Parts{Site: show.Site{Ground: files.Beside{}, List: fleet.ListFakes}, open: (*runner).startFakes, members: withFixed}
}

// WithElastic returns p for a run whose workers join and leave.
func (p Parts) WithElastic() Parts {
	p.members = func(r *runner) membership { return elastic{r} }
	return p
}

func withFixed(r *runner) membership { return fixed{r} }

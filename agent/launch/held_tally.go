//go:build linux

package launch

import "github.com/musterhq/muster/exec/wire"

// name notes what a session runs, for labelOf.
func (t *tally) name(session, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[session] = label
}

func (t *tally) labelOf(session string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.labels[session]
}

// accounts lets links tell the tally.
type accounts struct{ *tally }

// Link implements Account.
func (a accounts) Link(worker string, connected, parked bool) { a.link(worker, connected, parked) }

// Forget implements Account.
func (a accounts) Forget(worker string) { a.forget(worker) }

// Report implements Account.
func (a accounts) Report(worker string, rec wire.ReportRecord) { a.report(worker, rec) }

// LabelOf implements Account.
func (a accounts) LabelOf(session string) string { return a.labelOf(session) }

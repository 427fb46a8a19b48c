// Package rendezvous finds the workers of a job and says, while it waits, for
// whom and why.
//
// It is a straight line of plain values:
//
//	Watch.Run  ->  Snapshot  ->  Board.SetPods  ->  Board.Tick  ->  Progress  ->  Printer.Show
//	                 links   ->  Board.SetLink        Done, Hopeless, Report
//
// Watch follows the pods of one label selector (or, with Names, polls pods by
// name with nothing but the right to get them) through dropped connections,
// 410 and API servers that restart. It never gives up by itself, except for a
// selector that cannot be parsed and for 401 and 403 that last.
//
// Rank puts workers in numeric order, the same one after every restart. Explain
// gives one sentence and a hint for a pod that is not running yet. Board is a
// pure state machine over both and over the state of the links, which are the
// real readiness: a worker is ready when its agent has answered, whatever the
// pod's Ready condition says. Lost compares a running job's workers with a
// newer Snapshot.
//
// An elastic job begins with Board.Least workers when for a moment nobody else
// comes, and keeps its Board. Members, a second pure state machine, then tells who
// takes part: what Board calls ready goes in, and what Lost found; who has joined,
// who is leaving and who is gone comes out. Membership is sticky: a worker that was
// ready once stays until it is lost, so that a link that drops changes nothing.
//
// The package reads pods, and the events of those that a node cannot prepare: no nodes, no logs, so
// that the launcher's Role stays small. It changes nothing in the cluster, opens
// no link itself, and knows no exit codes but its own reasons'.
package rendezvous

// Package rendezvous finds the workers of a job. While it waits, it reports which workers are not
// ready, and why.
//
// It is a straight line of plain values:
//
//	Watch.Run  ->  Snapshot  ->  Board.SetPods  ->  Board.Tick  ->  Progress  ->  Printer.Show
//	                 links   ->  Board.SetLink        Done, Hopeless, Report
//
// Watch follows the pods of one label selector. With Names it polls pods by name, which needs only
// the right to get them. It continues through dropped connections, 410 and restarts of the API
// server. It gives up only for a selector that cannot be parsed, and for 401 and 403 that last.
//
// Rank puts workers in numeric order, which is the same after every restart. Explain gives one
// sentence and a hint for a pod that does not run yet. Board is a pure state machine over both and
// over the state of the links. The links decide: a worker is ready when its agent has answered,
// whatever the pod's Ready condition says. Lost compares the workers of a running job with a newer
// Snapshot.
//
// An elastic job starts with Board.Least workers if no further worker arrives for a moment, and
// keeps its Board. Members, a second pure state machine, then decides which workers take part. Its
// input is what Board calls ready and what Lost found. Its output is the workers that joined, are
// leaving or are gone. Membership is sticky: a worker that was ready once stays until it is lost,
// so a dropped link changes nothing.
//
// The package reads pods, and the events of pods that a node cannot prepare. It reads no nodes and
// no logs, so that the launcher's Role stays small. It changes nothing in the cluster, opens no
// link itself, and knows no exit codes except those of its own reasons.
package rendezvous

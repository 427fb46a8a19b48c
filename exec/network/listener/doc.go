// Package listener is the worker's side of connections by network. It accepts connections by TCP,
// and passes on those whose far end proves that it is a launcher of the job.
//
// Strangers cost a worker a bounded amount: at most [MostUnproved] connections and goroutines, each
// for [ProofTime] and about 2 KiB, and one line of the log a minute. If there are more, the oldest is
// closed. A connection that was proved is never closed for others. A shortage of descriptors or
// memory never ends the listener.
//
// Nothing of the session protocol is read before the proof. The package does not know sessions, and
// does not decide whether a launcher may have the worker: exec/session does. It is apart from the
// launcher's side, because it is part of the small binary.
package listener

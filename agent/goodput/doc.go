// Package goodput says what the time of a run's workers was spent on: which share of it was work that
// was kept, and what took the rest.
//
//	class.go    the classes of time, each with a sentence
//	account.go  the Account: worker-time by class, its ratio, and its sum with other accounts
//	of.go       Of: from a timeline to its account
//	attempt.go  what is known of one attempt: stalls, its stop, its checkpoint, its end
//	line.go     an account as one line, for people and for the controller
//	reader.go   the events that an account needs, for runs whose record is large
//
// Guarantees: the classes add up to the workers' wall time exactly. What the events do not tell is
// Unknown, and does not count. The package is pure: it reads no clock and no file.
package goodput

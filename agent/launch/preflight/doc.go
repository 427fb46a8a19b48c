// Package preflight checks the workers of a run, and the network between them, before ranks start.
//
//	preflight.go  [Preflight.Look]: asks for facts, measures pairs, and judges with agent/check
//	pairing.go    which workers connect to which, and who sends to whom at the same time; pure
//	words.go      sentences about the findings, one for all workers with the same one; pure
//
// A worker is asked for facts once. In the next attempt only workers that are new are asked, and
// connect to others.
package preflight

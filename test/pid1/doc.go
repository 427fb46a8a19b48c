// Package pid1 holds the built agent, as PID 1 of a PID namespace, to
// docs/explanation/pid1.md: what it does with each signal, which exit codes it tells, what
// it leaves behind, and who may talk to its socket. The tables of that page are
// the expectations; a row that the program does not keep fails.
//
// It needs root. There are tests only.
package pid1

// Package pid1 tests the built agent, as PID 1 of a PID namespace, against docs/explanation/pid1.md. It tests what
// the agent does with each signal, which exit codes it reports, what it leaves behind, and which processes may use
// its socket. The tables of that page are the expectations: a row that the program does not follow fails.
//
// It needs root. It has tests only.
package pid1

// Package audit reads an API server's audit log: what our programs ask for is
// counted where it arrives, and not by themselves.
//
// The log is that of test/lab/cluster ($MUSTER_AUDIT_LOG), a line for each request that
// has ended. It is written before the answer is, so what a caller has the answer of is there.
package audit

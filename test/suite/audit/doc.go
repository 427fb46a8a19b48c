// Package audit reads an API server's audit log. It counts our programs' requests in the server, not in the
// programs.
//
// The log is that of test/lab/cluster ($MUSTER_AUDIT_LOG). It has a line for each request that has ended. The
// server writes the line before the answer, so a caller that has the answer finds the request in the log.
package audit

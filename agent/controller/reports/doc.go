// Package reports reads what the agent in a pod reports of a run, and keeps in the status of the job what is reported
// only once.
//
//	ended.go     the last words of a container -> its failure, earlier attempts, and what time was spent on
//	running.go   events of the launcher's readiness probe -> its words about the run
//	attempts.go  failed attempts and spent time -> the status
//
// It is pure, and promises:
//
//   - Words that are not the agent's are kept as they are: a program's last words are never taken for a report.
//   - The status keeps the first and the last of many attempts. The first may hold the cause.
package reports

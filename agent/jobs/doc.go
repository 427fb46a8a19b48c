// Package jobs is what people at a keyboard do with LaunchJobs: see them, read
// their logs, wait for their ends, change and delete them. It asks the API server,
// and nothing else; it needs no launcher, and runs on laptops as well as in pods.
//
//	api.go       the API server: kubeconfig or the pod's own account; errors as failures
//	objects.go   jobs and pods, asked for
//	wait.go      until a job has ended, saying what is in its way
//	members.go   which pods of a job are meant, in the order of their ranks
//	stream.go    a log, line by line, through as many connections as it takes
//	podlog.go    the log of one container of one pod
//	which.go     whose logs are meant; ranked.go picks one rank's lines
//	logs.go      the logs of a job's pods, as lines; printer.go writes them
//	attend.go    a job from its beginning to its end: wait, logs, metrics (gauge.go)
//	list.go      what is said of jobs: describe.go, top.go, columns.go, table.go
//	change.go    scale, delete, prune
//	attach.go    a command in one of a job's pods
//
// It promises of logs: each line is handed on once, in the order of its container,
// whatever is cut and however often; a line is handed on whole; the last one, where
// it has no end, too. That holds as long as the kubelet keeps the log: what it has
// rotated away while nobody could be asked is lost.
//
// It will not: cache, watch with informers, or print by itself but where it is
// given a writer.
package jobs

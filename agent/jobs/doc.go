// Package jobs is what users do with LaunchJobs at a keyboard: list them, read their logs, wait for
// their end, change and delete them. It only talks to the API server. It needs no launcher, and
// runs on laptops as well as in pods.
//
//	api.go       the API server: kubeconfig or the pod's own account; errors as failures
//	objects.go   requests for jobs and pods
//	wait.go      waits until a job has ended, and reports why it does not run
//	pods.go      the pods of a job, in the order of their ranks
//	stream.go    a log, line by line, through as many connections as needed
//	podlog.go    the log of one container of one pod
//	which.go     selects whose logs to read; ranked.go picks one rank's lines
//	archived.go  where the output of ranks is if it is not in a log
//	logs.go      the logs of a job's pods, as lines; printer.go writes them
//	attend.go    a job from its start to its end: wait, logs, metrics (gauge.go)
//	list.go      tables and descriptions of jobs: describe.go, top.go, columns.go, table.go
//	workers.go   what the workers of a job use, for agent top JOB
//	history.go   the short record in the status of a job, as events
//	change.go    scale, delete, prune
//	attach.go    a command in one of a job's pods
//
// It promises for logs: each line is passed on once and complete, in the order of its container. That
// holds however often the connection breaks or the kubelet restarts the container. It includes a last
// line without a newline. The promise holds as long as the kubelet keeps the log. Lines that the
// kubelet rotates away while the API server is unreachable are lost.
//
// It does not cache, watch with informers, or print, except to a writer that it is given.
package jobs

// Package controller turns a LaunchJob into pods and reports their state. The agent in the pods
// does the rest.
//
// One Reconcile is a straight line:
//
//	layout.go    job -> slots: a name, a role and a rank for each pod
//	observe.go   slots + pods -> places: the stage of each pod
//	verdict.go   has the job ended, and how
//	line.go      what Kueue says about a job in one of its queues
//	plan.go      which pods to create, replace or delete
//	awaited.go   which failed members the others wait for
//	replaced.go  which replaced pods the status has, and which failures count
//	stand.go     the job's Workload: to create, change, give back or end it
//	apply.go     do it: children first, workers, the Role that names them, the launcher
//	status.go    places + verdict -> the status, written once
//	reconcile.go calls these in this order
//
// The packages below decide, build or read one thing each:
//
//	gang      a gang of the pods, for schedulers that start all of them or none
//	kueue     when a job in a queue may have pods
//	queue     reads and writes of the objects of Kueue
//	exclude   nodes that new pods avoid
//	children  the objects that a job owns, and how they are written
//	reports   what the agent in a pod reports of a run
//	history   the short record of a job, for which view.go collects what is known
//	progress  takes reports of programs about how far they are
//	census    counts of jobs for Prometheus
//	trace     a trace of each job
//	kubelets  whether all nodes can mount images
//	topology  a controller of its own, which copies labels of nodes to the pods
//
// Builders are pure. They are pod.go, wrap.go (the agent before the user's command), deliver.go (how
// the agent gets there) and package children. access.go and token.go decide when the launcher's rights and
// the Secret that pods share change. refuse.go finds jobs that cannot be built.
//
// It promises:
//
//   - Pods have plain names, made from the job's name, the role's and a number. The
//     replacement of a lost pod has the same name. It is called NAME-r1 only while a
//     node that does not answer still holds the old pod.
//   - The end of the role's own container is the end of the pod, whatever sidecars do.
//   - If it is killed between two writes, it continues where it was. Pods are
//     created, which is idempotent for plain names, and never adopted. A failed pod is
//     recorded in the status before it is deleted, so that it counts once.
//   - It never touches an object that does not belong to the job, whatever its name.
//   - A child that a user deletes is created again, unless it is a worker whose
//     launcher has no restart left, or a pod whose work is done (status.completed).
//     The job owns all children, so they are deleted with it. There are no finalizers:
//     without the controller, jobs run on.
//   - The launcher may exec into its own workers only. Its Role names pods that the job
//     controls, is written after them and before the launcher, and is emptied when
//     the job ends or is suspended.
//   - It may create one Secret for each job, with the token of members or with the keys of a launcher
//     and its workers, and read none of them. The API server chooses a free name for it, which the
//     status keeps.
//   - A job in a queue of Kueue has pods only while Kueue admits it. An eviction ends the attempt: its
//     pods are deleted, and Kueue gets the quota back when the last one is gone.
//   - A reconcile creates at most 250 workers or Services, and deletes at most 250 pods, so
//     that other jobs get a turn before the next batch.
//   - An error that ends three reconciles in a row is in the job's reason and in an
//     event (failures.go).
//
// It does not restart processes, count the agent's attempts, judge a rank, or wait for workers
// before it creates the launcher. The agent does that, in the pods.
package controller

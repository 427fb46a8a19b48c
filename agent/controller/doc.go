// Package controller turns a LaunchJob into pods and says what becomes of them.
// The agent in the pods does the rest.
//
// One Reconcile is a straight line:
//
//	layout.go    job -> slots: a name, a role and a rank for each pod
//	observe.go   slots + pods -> places: how far each pod has come
//	verdict.go   has the job ended, and how
//	plan.go      which pods to create, to replace, to take away
//	apply.go     do it: children first, workers, the Role that names them, the launcher
//	status.go    places + verdict -> the status, written once
//	reconcile.go in this order
//
// Builders are pure: pod.go, wrap.go (the agent before the user's command),
// deliver.go (how the agent gets there), access.go (Service, ServiceAccount, Role,
// RoleBinding), token.go, gang.go. refuse.go says what cannot be built.
//
// It promises:
//
//   - Pods have plain names, made from the job's name, the role's and a number. A
//     pod that is lost is made anew under its name; under NAME-r1 only while a node
//     that does not answer still holds the old one.
//   - The end of the role's own container is the pod's, whatever sidecars do.
//   - Killed between any two writes it goes on where it stood: pods are created,
//     which is idempotent for plain names, never adopted; a pod that failed is
//     written down in the status before it is removed, so that it counts once.
//   - An object that is not the job's own is never touched, whatever its name.
//   - A child that somebody deletes comes back, unless it is a worker whose launcher has no restart
//     left. All have the job as their owner, and go with it. There are no finalizers: without the
//     controller, jobs run on.
//   - The launcher may exec into its own workers only: its Role names pods that the job controls, is
//     written after them and before the launcher, and is emptied when the job ends or is suspended.
//   - Of secrets the controller may create one for each job without a launcher, and read none: the API
//     server chooses a free name for it, and the status keeps that name.
//   - A reconcile makes at most 250 workers, so that other jobs are served before the next batch.
//   - An error that ends three reconciles in a row is in the job's reason and an event (failures.go).
//
// It will not restart processes, count the agent's attempts, judge a rank, or wait
// for workers before it makes the launcher: the agent does that, in the pods.
package controller

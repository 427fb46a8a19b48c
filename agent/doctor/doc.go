// Package doctor gathers the facts about a cluster, and about a job in it, that package check
// judges. `agent doctor` uses it on laptops and in pods.
//
//	cluster.go     the API server, its version, the CRD; the order in which the checks run
//	controller.go  the lease of the controller, or its Deployment
//	rights.go      the rights of a user, and of a launcher in its pod
//	job.go         the pods and images of a job, its quota, gang and Pod Security
//
// It only reads, apart from reviews, which the API server answers and forgets, and `agent ready` in
// one pod of the job. It starts no pod. What cannot be read is unknown, and never ok.
package doctor

// Package progress takes reports from programs about how far they are, and writes them into the
// status of their LaunchJobs.
//
//	server.go    an HTTPS server: one path for each job
//	sender.go    which pod sends a report: its token is reviewed by the API server
//	report.go    reads a report, in the form of Kubeflow Trainer (KEP-2779)
//	write.go     writes it into the status of the pod's job
//	text.go      the report as one line for people
//	identity.go  the server's certificate, in a Secret
//	offer.go     what a pod needs to send reports: address, certificate and token
//
// Hugging Face's KubeflowCallback and Kubeflow's SDK send such reports if the variables that offer.go
// sets exist. So does the launcher.
//
// Guarantees: only a pod that a job controls can change the status of this job, and only the two
// fields of a report. Requests, connections and reviews are bounded. A program never waits for the
// server for longer than its own timeout, and no report is needed for a job to run.
package progress

// Package trainer reports how far a run is, to Muster's controller or to Kubeflow Trainer: both take
// the same request (KEP-2779), and name its address in the same variables.
//
//	report.go  the report
//	client.go  sends it
//
// Guarantees: a redirect is not followed, so the token goes to the configured server only. It is read
// for each report, because the kubelet renews it. Errors name no token.
package trainer

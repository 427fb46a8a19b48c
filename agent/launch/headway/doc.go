// Package headway tells a controller how far an attempt is: Muster's, or Kubeflow Trainer's. The
// environment names the server, and a rule for output lines (--expect) captures the step.
//
// Guarantees: the run never waits for the server, except a moment at the end of an attempt for the
// last report. If reports fail, one warning says so, and the run goes on.
package headway

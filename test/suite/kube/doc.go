// Package kube is what tests need of a cluster: kubectl, the objects that jobs of
// plain pods begin with, and the controller of LaunchJobs.
package kube

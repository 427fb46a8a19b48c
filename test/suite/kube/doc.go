// Package kube has what tests need of a cluster: kubectl, the objects of jobs made of plain pods, and the
// controller of LaunchJobs.
package kube

// Command matrix runs make e2e-smoke on several versions of Kubernetes, one after the other, and writes the results into
// the support matrix.
//
//	test/lab/run matrix -page docs/operations/support.md [VERSION...]
//
// A VERSION is a minor version that test/lab/cluster can run, such as 1.36. Without one, all of them are run, oldest
// first, so that the newest stays up. The contents of the other clusters are removed. The page keeps its lines about
// versions that were not run. Figures are in out/kubernetes-VERSION. The exit status is 1 if a
// version fails; the others are run anyway.
package main

// Package resize composes the lines about workers whose pods are resized in place while a run goes
// on. The kubelet changes the limits of a running container, so ranks continue with others.
//
// A Watch compares the pods of each snapshot with earlier ones. It asks nothing of the API server,
// and gathers the news of many workers into few lines.
package resize

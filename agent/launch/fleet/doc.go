// Package fleet holds the workers of a run: pods of a cluster, or processes on this machine
// (--fake). It finds or starts them, keeps a link to each, and replaces lost workers.
//
//	links.go    one link per worker; told.go handles what workers report over them
//	cluster.go  the fleet of a cluster: kube.go finds the cluster, await.go waits for its
//	            pods and shows why it waits, past.go knows the workers that an attempt lost
//	fake.go     the fleet of one machine; fake_renew.go replaces workers, fake_elastic.go
//	            lets more of them join, faulty.go rehearses faults
//	network.go  workers that are reached by the pod network; either.go goes back to exec, one
//	            worker at a time, and fake_network.go does it on one machine
//	reasons.go  what is wrong with a link, in words
//	resizes.go  pods that are resized in place, and the lines about them
//
// Guarantees: a link lives until its context ends, however a wait ends. A new pod with the same
// name, or a restarted container, gets a new link. Close returns when every link is down.
package fleet

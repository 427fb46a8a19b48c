// Package fleet has the workers of a run: pods of a cluster, or processes on this machine
// (--fake). It finds or starts them, keeps a link to each, and gets others in the place of
// those that are gone.
//
//	links.go   one link per worker; told.go takes what workers report over them
//	cluster.go the fleet of a cluster: kube.go finds it, await.go waits for its pods with an
//	           explained progress line, past.go knows those that an attempt has lost
//	fake.go    the fleet of one machine; fake_renew.go replaces workers, fake_elastic.go has
//	           more of them join, faulty.go rehearses faults
//	reasons.go what is wrong with a link, in words
//
// It promises: links live until their context ends, whatever becomes of a wait. A pod that
// took another's name, or a container that was restarted, gets a new link. Close returns when
// every link is down.
package fleet

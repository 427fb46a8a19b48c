// Package submit makes a LaunchJob of what somebody types: `agent submit` with the
// flags that users of Arena know.
//
// It takes a Request, in which each field is a flag as it was given, and gives the
// object, or a failure that says in a sentence which flag is wrong and what is right.
//
//	request.go  the fields, and Job: request -> LaunchJob
//	command.go  the command: words or a line for a shell; which framework it is
//	pods.go     the templates of launcher and roles
//	sync.go     code out of a git repository
//	parse.go    flags of several parts: K=V, PVC:PATH, taints
//
// It promises: the same request gives the same object, byte by byte; no flag is
// dropped without a word; nothing that looks like a password is written into an
// object (a URL with one is refused).
//
// It will not: ask a cluster (so that --dry-run needs none), know what is in an
// image, or fill in what the API server does by itself.
package submit

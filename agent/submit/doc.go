// Package submit makes a LaunchJob from the command line of `agent submit`, whose flags are those
// that users of Arena know.
//
// It takes a Request, in which each field is a flag as given. It returns the object, or a failure
// that says which flag is wrong and what is valid.
//
//	request.go  the fields, and Job: request -> LaunchJob
//	command.go  the command: words or a line for a shell, and its framework
//	pods.go     the templates of launcher and roles
//	sync.go     code from a git repository
//	parse.go    flags with several parts: K=V, PVC:PATH, taints
//
// It promises that the same request gives the same object, byte by byte. It drops no flag silently.
// It writes nothing into an object that looks like a password (a URL with one is an error).
//
// It does not ask a cluster (so --dry-run needs none), look into an image, or set defaults of the
// API server.
package submit

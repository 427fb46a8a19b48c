// Package children builds and writes the objects that a job owns, besides its pods: those by which the pods reach each
// other. They are names in DNS, the launcher's account and its rights, and a Secret that the pods share.
//
//	owner.go     which objects are the job's own, and the metadata that says so
//	services.go  headless Services, and what else pods need before they start
//	role.go      the Role and the RoleBinding of the launcher's account
//	token.go     the Secret that the pods share: the token of members, or keys
//	transport.go a job's pair of keys, their mounts, and pods that wait for them
//	writer.go    Create and Keep: a write that may be repeated
//
// Everything but the writer is pure, except that tokens and keys are random. The writer also writes pods, and the objects of
// gangs and of Kueue. It promises:
//
//   - It never changes an object that does not belong to the job, whatever its name. It returns Taken instead.
//   - A repeated write changes nothing, so a controller that was killed between two writes continues there.
//   - An object that exists is compared by the wanted fields only. Defaults that the API server adds cause no write.
//   - A Role names only the pods that it is given. A rule without names allows only to list and watch.
//   - A token or key is never part of a pod: pods refer to its Secret. A pod mounts one key of a pair.
package children

package main

// The API server says here what it was asked, a line for each request that has ended: who asked (user agent, user), the
// verb, the object, the answer's code. No bodies. It begins anew at 64 MiB; what was there before is kept beside it once.
func (c cluster) auditLog() string    { return c.path("log", "audit.log") }
func (c cluster) auditPolicy() string { return c.path("run", "audit-policy.yaml") }

func (c cluster) auditFlags() []string {
	return []string{"--audit-policy-file=" + c.auditPolicy(), "--audit-log-path=" + c.auditLog(),
		"--audit-log-maxsize=64", "--audit-log-maxbackup=1",
		// Written before the answer is: who has the answer finds the line. An API server that is killed loses none.
		"--audit-log-mode=blocking"}
}

// auditRules leave out what the cluster says to itself, which is nearly all, and leases. Watches stay: one that is
// refused is an answer too. A request is one line, at its end.
const auditRules = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- {level: None, userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]}
- {level: None, users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy", "system:coredns"]}
- {level: None, resources: [{group: coordination.k8s.io, resources: [leases]}]}
- {level: None, nonResourceURLs: ["/readyz*", "/livez*", "/healthz*", "/metrics", "/openapi/*"]}
- {level: Metadata}
`

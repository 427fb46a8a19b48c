package join

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// source is a possible source of the rank. Sources are in order of precedence.
type source struct{ name, value string }

// Identify finds the rank, and the address of rank 0, from what the pod knows about itself. env is
// os.Getenv, and hosts is the text of /etc/hosts. Flags take precedence, and must not contradict
// what the cluster has set.
func (c *Config) Identify(env func(string) string, hosts string) error {
	if c.Workers < 1 {
		return usage("--workers=4, or MUSTER_WORKERS=4 in the pod's environment", "missing --workers: the number of members is unknown")
	}
	if err := c.findRank(env); err != nil {
		return err
	}
	if c.Rank >= c.Workers {
		return usage("--workers (MUSTER_WORKERS) is the number of members; ranks count from 0",
			"rank %d is too large: the job has %d members", c.Rank, c.Workers)
	}
	c.meets = cmp.Or(c.Job, indexedJob(c.Host, env(names.EnvCompletionIndex)))
	if c.PodName == "" {
		c.PodName = c.Host
	}
	if c.PodIP == "" {
		c.PodIP = addressOf(c.Host, hosts)
	}
	if c.Workers == 1 {
		return nil
	}
	return c.findCoordinator(hosts)
}

// indexedJob returns the name of the Indexed Job that created a pod. Kubernetes sets the pod's host
// name to JOB-INDEX.
func indexedJob(host, index string) string {
	if job, ok := strings.CutSuffix(host, "-"+index); ok && index != "" {
		return job
	}
	return ""
}

// findRank takes the first source that has a number. Two sources from the cluster or the user that
// differ are an error. The host name comes last and never contradicts another source, because it
// may be anything.
func (c *Config) findRank(env func(string) string) error {
	given := ""
	if c.Rank >= 0 {
		given = strconv.Itoa(c.Rank)
	}
	var first source
	for _, s := range []source{
		{"--rank", given},
		{names.EnvCompletionIndex, env(names.EnvCompletionIndex)},
		{names.EnvPodIndex, env(names.EnvPodIndex)},
	} {
		if s.value == "" {
			continue
		}
		n, err := strconv.Atoi(s.value)
		switch {
		case err != nil || n < 0:
			return usage("a rank is a number from 0", "%s=%q is not a rank", s.name, s.value)
		case first.name == "":
			first, c.Rank = s, n
		case n != c.Rank:
			return usage("omit "+first.name+", or correct it: a replacement of this pod keeps the number that the cluster gave it",
				"%s=%s and %s=%s contradict each other", first.name, first.value, s.name, s.value)
		}
	}
	if first.name != "" {
		return nil
	}
	if c.Rank = trailing(c.Host); c.Rank >= 0 {
		return nil
	}
	if c.Workers == 1 {
		c.Rank = 0
		return nil
	}
	return usage("an Indexed Job sets JOB_COMPLETION_INDEX; elsewhere "+names.EnvPodIndex+" from the label apps.kubernetes.io/pod-index by the downward API, or --rank",
		"missing --rank: the host name %q does not end in a number", c.Host)
}

// trailing returns the number at the end of a name, or -1.
func trailing(name string) int {
	stem := strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(stem):], 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// findCoordinator determines the address of rank 0: as given, else our own host name with rank 0 in
// it and the domain that the kubelet has written beside it.
func (c *Config) findCoordinator(hosts string) error {
	if c.Coordinator != "" {
		if _, _, err := net.SplitHostPort(c.Coordinator); err != nil && !strings.Contains(c.Coordinator, ":") {
			c.Coordinator = net.JoinHostPort(c.Coordinator, strconv.Itoa(names.JoinPort))
		}
		return nil
	}
	stem := strings.TrimSuffix(c.Host, strconv.Itoa(c.Rank))
	if stem == c.Host || trailing(c.Host) != c.Rank {
		return usage(fmt.Sprintf("--coordinator=HOST:%d, with a name or an address of rank 0 that every member can reach", names.JoinPort),
			"missing --coordinator: the host name %q does not end in the rank of this member, %d", c.Host, c.Rank)
	}
	host := stem + "0"
	if domain := domainOf(c.Host, hosts); domain != "" {
		host += "." + domain
	}
	c.Coordinator = net.JoinHostPort(host, strconv.Itoa(names.JoinPort))
	return nil
}

// domainOf finds the domain of a host in the text of /etc/hosts. For a pod with a subdomain the
// kubelet writes "ADDRESS host.subdomain.namespace.svc.cluster.local host".
func domainOf(host, hosts string) string {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			if domain, ok := strings.CutPrefix(words[i], host+"."); ok {
				return domain
			}
		}
	}
	return ""
}

// addressOf finds the address of a host in the text of /etc/hosts, where the kubelet writes the
// pod's. It ignores loopback addresses, because no other pod can use them.
func addressOf(host, hosts string) string {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(words[1:], host) {
			continue
		}
		if ip := net.ParseIP(words[0]); ip != nil && !ip.IsLoopback() {
			return ip.String()
		}
	}
	return ""
}

package launch

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous"
)

// clusterOf describes the situation to a framework.
func clusterOf(s situation, hosts []Host, temp string) (framework.Cluster, error) {
	c := framework.Cluster{
		Job: s.cfg.Job, Namespace: s.cfg.Namespace, RunDir: s.dir,
		Launcher: framework.Node{Name: s.cfg.PodName, IP: s.cfg.PodIP, Slots: s.cfg.LauncherSlots},
		Agent:    s.paths.Rsh,
		Hostfile: s.paths.Hostfile, HydraHostfile: s.paths.Hydra, DiscoverHosts: s.paths.Discover,
		Fake:        s.cfg.IsFake(),
		SharedCores: s.cfg.IsFake() || sharedCores(s),
		Root:        os.Getuid() == 0,
		Home:        homeIfNone(s.dir),
		Temp:        temp,
		NoPasswd:    !hasPasswd(os.Getuid()),
		Interface:   launcherInterface(s.cfg),
		NoRDMA:      noRDMA(s),
		NoGPU:       noGPU(s),
		UserEnv:     s.env,
		Command:     s.cfg.Command,
		Below:       s.cfg.Below(),
		Procs:       s.cfg.ProcsPerWorker,
		Port:        s.port,
		Attempt:     s.attempt,

		LeastWorkers: s.cfg.LeastWorkers,
		MostWorkers:  s.cfg.MostElastic(),
		Store:        max(0, slices.IndexFunc(s.ranked, func(w rendezvous.Worker) bool { return w.Name == s.store })),
	}
	if c.Fake {
		c.Processors = runtime.NumCPU()
	}
	for i, h := range hosts {
		c.Workers = append(c.Workers, framework.Node{Name: h.Name, Host: h.Host, IP: h.IP, Slots: h.Slots, Index: h.Index,
			GPUs: s.ranked[i].GPUs})
	}
	if err := giveRoles(s, c.Workers); err != nil {
		return c, err
	}
	return c, giveInterfaces(s, c.Workers)
}

// giveRoles tells the workers what they are: by --roles, else by the pods'
// labels, else "worker" for those beside one that has a label; nobody has a role
// where nobody says.
func giveRoles(s situation, workers []framework.Node) error {
	roles, err := framework.ParseRoles(s.cfg.Roles, len(workers))
	if err != nil {
		return failure.Usage("--roles names the workers in their order, as in chief=1,worker=2", "%w", err)
	}
	labelled := false
	for _, w := range s.ranked {
		labelled = labelled || w.Role != ""
	}
	if roles == nil && !labelled {
		return nil
	}
	seen := map[string]int{}
	for i := range workers {
		role := strings.ToLower(s.ranked[i].Role)
		if role == "" {
			role = "worker"
		}
		if roles != nil {
			role = roles[i].Name
		}
		workers[i].Role, workers[i].RoleIndex = role, seen[role]
		seen[role]++
	}
	return nil
}

// noRDMA: every worker has said that it has no such device.
func noRDMA(s situation) bool {
	return len(s.ranked) > 0 && !slices.ContainsFunc(s.ranked, func(w rendezvous.Worker) bool { return !s.welcomes[w.Name].NoRDMA })
}

// noGPU: every worker has said that it has no accelerator.
func noGPU(s situation) bool {
	return len(s.ranked) > 0 && !slices.ContainsFunc(s.ranked, func(w rendezvous.Worker) bool { return !s.welcomes[w.Name].NoGPU })
}

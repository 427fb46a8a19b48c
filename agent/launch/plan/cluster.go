package plan

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous"
)

// clusterOf describes the situation to a framework. Errors are *failure.Failure.
func clusterOf(s Situation, hosts []Host) (framework.Cluster, error) {
	c := framework.Cluster{
		Job: s.Config.Job, Namespace: s.Config.Namespace, RunDir: s.Dir,
		Launcher: framework.Node{Name: s.Config.PodName, IP: s.Config.PodIP, Slots: s.Config.LauncherSlots},
		Agent:    s.Files.Rsh,
		Hostfile: s.Files.Hostfile, HydraHostfile: s.Files.Hydra, DiscoverHosts: s.Files.Discover,
		Fake:        s.Machine.Fake,
		SharedCores: s.Machine.Fake || sharedCores(s),
		Processors:  s.Machine.Processors,
		Root:        s.Machine.Root,
		Home:        s.Machine.Home,
		Temp:        s.Machine.Temp,
		NoPasswd:    s.Machine.NoShell,
		Interface:   s.Machine.Interface,
		NoRDMA:      noRDMA(s),
		NoGPU:       noGPU(s),
		UserEnv:     s.Env,
		Command:     s.Config.Command,
		Below:       s.Config.Below(),
		Procs:       s.Config.ProcsPerWorker,
		Port:        s.Port,
		Attempt:     s.Attempt,

		LeastWorkers: s.Config.LeastWorkers,
		MostWorkers:  s.Config.MostElastic(),
		FirstWorkers: s.First,
		Store:        max(0, slices.IndexFunc(s.Ranked, func(w rendezvous.Worker) bool { return w.Name == s.Store })),
	}
	for i, h := range hosts {
		c.Workers = append(c.Workers, framework.Node{Name: h.Name, Host: h.Host, IP: h.IP, Slots: h.Slots, Index: h.Index,
			GPUs: s.Ranked[i].GPUs})
	}
	if err := giveRoles(s, c.Workers); err != nil {
		return c, err
	}
	return c, giveInterfaces(s, c.Workers)
}

// giveRoles sets the role of each worker, from --roles or else from the pods' labels. If only some
// pods have the label, the other workers get the role "worker". Without any label, no worker has a
// role.
func giveRoles(s Situation, workers []framework.Node) error {
	roles, err := framework.ParseRoles(s.Config.Roles, len(workers))
	if err != nil {
		return failure.Usage("--roles assigns roles to the workers in order, as in chief=1,worker=2", "%w", err)
	}
	labelled := false
	for _, w := range s.Ranked {
		labelled = labelled || w.Role != ""
	}
	if roles == nil && !labelled {
		return nil
	}
	seen := map[string]int{}
	for i := range workers {
		role := strings.ToLower(s.Ranked[i].Role)
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

// noRDMA reports whether every worker has reported that it has no RDMA device.
func noRDMA(s Situation) bool {
	return len(s.Ranked) > 0 && !slices.ContainsFunc(s.Ranked, func(w rendezvous.Worker) bool { return !s.Welcomes[w.Name].NoRDMA })
}

// noGPU reports whether every worker has reported that it has no accelerator.
func noGPU(s Situation) bool {
	return len(s.Ranked) > 0 && !slices.ContainsFunc(s.Ranked, func(w rendezvous.Worker) bool { return !s.Welcomes[w.Name].NoGPU })
}

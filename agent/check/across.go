package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/exec/build"
)

// acrossCheck compares one version on all workers.
type acrossCheck struct {
	Check
	// versions returns what is compared, by name. A name without a version is not compared.
	versions func(j Job, w Worker) map[string]string
	// verdict judges two versions that differ.
	verdict func(name, a, b string) Verdict
}

func warns(_, _, _ string) Verdict { return Warn }

var acrossChecks = []acrossCheck{
	{Check{"agent", OfAll, "All workers run the launcher's version of the agent.", "two workers", "give launcher and workers the agent of one release"}, agents, warns},
	{Check{"mpi", OfAll, "All workers have the same MPI library, and the launcher has it too.", "a library libmpi.so or libmpich.so", "use one image, or the same MPI in all images"}, named("MPI library", "MPICH library"), mpiDiffers},
	{Check{"python", OfAll, "All workers have the same version of Python.", "python3 in PATH", "use one image for all workers"}, named("Python"), warns},
	{Check{"packages", OfAll, "All workers have the same version of the framework's Python packages.", "python3 in PATH", "use one image for all workers"}, packages, warns},
	{Check{"libraries", OfAll, "All workers have the same version of NCCL, CUDA and libfabric.", "a library with its version in its name", "use one image for all workers"}, named("NCCL", "RCCL", "CUDA runtime", "libfabric"), warns},
	{Check{"drivers", OfAll, "All nodes have the same version of device drivers.", "a loaded driver that shows its version", "update the drivers of the nodes, or select nodes with one version"}, named("NVIDIA driver", "AMD driver", "Neuron driver", "Gaudi driver", "mlx5 driver", "EFA driver"), warns},
}

func agents(_ Job, w Worker) map[string]string { return map[string]string{"the agent": w.Agent} }

func packages(j Job, w Worker) map[string]string { return pick(w, j.Packages) }

func named(list ...string) func(Job, Worker) map[string]string {
	return func(_ Job, w Worker) map[string]string { return pick(w, list) }
}

func pick(w Worker, list []string) map[string]string {
	found := map[string]string{}
	for _, name := range list {
		if v := w.Facts.Versions[name]; v != "" {
			found[name] = v
		}
	}
	return found
}

// mpiDiffers judges two versions of libmpi.so. The first number is the ABI: 40 is Open MPI from 3 to
// 5, 12 is MPICH and Intel MPI. With another ABI, ranks cannot start together.
func mpiDiffers(_, a, b string) Verdict {
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	if a != b {
		return Fail
	}
	return Warn
}

// OfAllWorkers compares the workers. Workers with a version that most others do not have are named.
func OfAllWorkers(j Job, workers []Worker) []Finding {
	var found []Finding
	for _, c := range acrossChecks {
		byName := map[string]map[string][]string{} // name, version, workers
		note := func(worker string, versions map[string]string) {
			for name, v := range versions {
				if v == "" || v == build.Unknown {
					continue
				}
				if byName[name] == nil {
					byName[name] = map[string][]string{}
				}
				byName[name][v] = append(byName[name][v], worker)
			}
		}
		for _, w := range workers {
			note(w.Name, c.versions(j, w))
		}
		switch {
		case c.Name == "agent":
			note("the launcher", map[string]string{"the agent": j.Agent})
		case c.Name == "mpi" && j.MPI:
			note("the launcher", map[string]string{"MPI library": j.LauncherMPI})
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			found = append(found, c.compare(name, byName[name]))
		}
	}
	return found
}

// compare judges the versions of one thing.
func (c acrossCheck) compare(name string, workers map[string][]string) Finding {
	versions := slices.SortedFunc(maps.Keys(workers), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(workers[b]), len(workers[a])), cmp.Compare(a, b))
	})
	most := versions[0]
	f := Finding{Check: c.Name, Verdict: OK, Found: fmt.Sprintf("%s is %s everywhere", name, most)}
	if len(versions) == 1 {
		return f
	}
	var parts []string
	for _, v := range versions[1:] {
		if one := c.verdict(name, most, v); one.badness() > f.Verdict.badness() {
			f.Verdict = one
		}
		parts = append(parts, fmt.Sprintf("%s on %s", v, few(workers[v])))
	}
	f.Found = fmt.Sprintf("%s is %s on %s, but %s", name, most, few(workers[most]), strings.Join(parts[:min(len(parts), 3)], ", "))
	f.Remedy = c.Remedy
	return f
}

// few lists workers, at most two by name.
func few(workers []string) string {
	slices.Sort(workers)
	switch len(workers) {
	case 1:
		return workers[0]
	case 2:
		return workers[0] + " and " + workers[1]
	}
	return fmt.Sprintf("%s, %s and %d more", workers[0], workers[1], len(workers)-2)
}

package variables

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// framed is the package whose variables Frameworks finds by running it.
const framed = "agent/framework"

// elsewhere explains the files that read a variable whose name is not in them.
func elsewhere() map[string]string {
	return map[string]string{
		"agent/framework/plugin/serve.go": "the cookie, which wire.go names",
		"agent/worker/lay.go":             "framework.Exported, by request of the launcher",
		"cmd/agent/join.go":               "the variable of each setting",
		"cmd/launcher/config_file.go":     "the variable of each setting",
		"cmd/launcher/flags.go":           "the variable of each setting, of --explain and of --format",
	}
}

// apart lists packages whose use of variables does not concern users: a shell's own variables, and the
// environment of programs that show stacks.
func apart() (reads, sets []string) {
	return []string{"exec/shell"}, []string{"exec/stacks", "exec/shell"}
}

// noVariable explains the words that look like variables and are none, or not Muster's.
func noVariable() map[string]string {
	return map[string]string{
		"ACCESS_KEY":                      "part of the name of a secret",
		"API_KEY":                         "part of the name of a secret",
		"AUDIT_WRITE":                     "a capability",
		"CUDA_ERROR_ECC_UNCORRECTABLE":    "an error of CUDA",
		"CUDA_ERROR_NVLINK_UNCORRECTABLE": "an error of CUDA",
		"DAC_OVERRIDE":                    "a capability",
		"DMLC_PS_ROOT":                    "text of a script",
		"GITSYNC_LINK":                    "the user's own, for git-sync",
		"GITSYNC_ROOT":                    "the user's own, for git-sync",
		"IPC_LOCK":                        "a capability",
		"LD_LIBRARY_PATH":                 "the loader's own, of processes on workers",
		"NCCL_DEBUG":                      "an example in a hint",
		"NET_BIND_SERVICE":                "a capability",
		"PADDLE_TRAINER":                  "text of a script",
		"SYS_CHROOT":                      "a capability",
	}
}

// Faults lists how the source differs from the tables and from what the frameworks set.
func Faults(s Source) (faults []string, err error) {
	native, compat, shared, err := Frameworks()
	if err != nil {
		return nil, err
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	reads, sets := apart()
	for _, one := range []struct {
		what        string
		found, rows Found
	}{
		{"read", without(s.Reads, reads), rowsOfReads()},
		{"set", without(s.Sets, append(sets, framed)), rowsOfSets()},
	} {
		for _, name := range union(one.found, one.rows) {
			if in, want := one.found[name], one.rows[name]; noVariable()[name] == "" && !slices.Equal(in, want) {
				fault("%s is %s in %q, and the table has %q", name, one.what, in, want)
			}
		}
	}
	known := pageNames(append(append(native, compat...), Section{Rows: shared}))
	for name, in := range s.Sets {
		if slices.Contains(in, framed) && !known[name] {
			fault("%s is set in %s, and no section has it", name, framed)
		}
	}
	for _, name := range names.Variables() {
		if test := slices.Contains(names.TestVariables(), name); test == known[name] {
			fault("%s is in names.Variables, and on the page: %v", name, known[name])
		}
	}
	for _, name := range union(s.Words, Found{}) {
		if !known[name] && noVariable()[name] == "" && !slices.Contains(names.TestVariables(), name) {
			fault("%s is in %q, and neither on the page nor among the words that are no variables", name, s.Words[name])
		}
	}
	for name := range noVariable() {
		if s.Words[name] == nil && s.Sets[name] == nil {
			fault("%s is among the words that are no variables, and not in the source", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(elsewhere())) {
		if !slices.Contains(s.Open, name) {
			fault("%s reads no variable by a name from elsewhere", name)
		}
	}
	for _, name := range s.Open {
		if elsewhere()[name] == "" {
			fault("%s reads a variable by a name from elsewhere", name)
		}
	}
	slices.Sort(faults)
	return faults, nil
}

// without leaves out packages, and names that are nowhere else.
func without(f Found, dirs []string) Found {
	left := Found{}
	for name, in := range f {
		if in = slices.DeleteFunc(slices.Clone(in), func(dir string) bool { return slices.Contains(dirs, dir) }); len(in) > 0 {
			left[name] = in
		}
	}
	return left
}

func union(a, b Found) []string {
	all := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(all)
	return slices.Compact(all)
}

func rowsOfReads() Found {
	rows := Found{}
	for _, r := range append(Own(), OfProcesses()...) {
		for _, dir := range strings.Fields(r.In) {
			rows.add(r.Name, dir)
		}
	}
	return rows
}

func rowsOfSets() Found {
	rows := Found{}
	for _, r := range slices.Concat(Always(), ByController(), BySubmit(), ByConvert()) {
		for _, dir := range strings.Fields(r.In) {
			rows.add(r.Name, dir)
		}
	}
	return rows
}

// pageNames returns the variables that the page has, in its tables or in its links to the settings.
func pageNames(sections []Section) map[string]bool {
	known := map[string]bool{}
	for s := range settings.All() {
		known[settings.Variable(s.Name)] = true
	}
	for _, r := range append(Own(), OfProcesses()...) {
		known[r.Name] = true
	}
	for _, r := range slices.Concat(Always(), ByController(), BySubmit(), ByConvert()) {
		known[r.Name] = true
	}
	for _, s := range sections {
		for _, r := range s.Rows {
			known[r.Name] = true
			for i, part := range strings.Split(r.Meaning, "`") { // between backquotes: variables of the user
				known[part] = known[part] || i%2 == 1
			}
		}
	}
	return known
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/exec/names"
)

// configName is the name of the settings file in the working directory.
const configName = "muster.yaml"

// configFile is a settings file. It has values for each verb, by the names of the verb's flags.
//
//	run:
//	  workers: 4
//	  env: {NCCL_DEBUG: INFO}
//	submit:
//	  image: repo/pi:1
type configFile struct {
	path  string
	verbs map[string]map[string]any
}

// readConfig reads the file that MUSTER_CONFIG names, else muster.yaml if it exists. In the pods of a
// job it reads only a file that MUSTER_CONFIG names, so that the job's objects say what it does. It
// returns nil if there is no file to read.
func readConfig() (*configFile, error) {
	path := os.Getenv(names.EnvConfig)
	named := path != ""
	if !named {
		if os.Getenv(names.EnvJob) != "" || os.Getenv(names.EnvPodUID) != "" {
			return nil, nil
		}
		path = configName
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, failure.New(names.ExitData, "", "read settings: %w", err)
	}
	found := map[string]any{}
	if text, err = yaml.YAMLToJSONStrict(text); err == nil {
		numbers := json.NewDecoder(bytes.NewReader(text))
		numbers.UseNumber() // 10000000 is not 1e+07
		err = numbers.Decode(&found)
	}
	if err != nil {
		return nil, failure.New(names.ExitData, below, "%s: %w", path, err)
	}
	return byVerb(path, found)
}

// below is the hint about the form of the file.
const below = "put flags under their verb, as in run: {workers: 4}"

// byVerb checks that the file has verbs with flags below them.
func byVerb(path string, found map[string]any) (*configFile, error) {
	f := &configFile{path: path, verbs: map[string]map[string]any{}}
	for _, verb := range slices.Sorted(maps.Keys(found)) {
		flags, ok := found[verb].(map[string]any)
		if !slices.Contains(allVerbs(), verb) {
			return nil, failure.New(names.ExitData, failure.Meant("", verb, allVerbs(), below), "%s: unknown verb %q", path, verb)
		}
		if !ok && found[verb] != nil {
			return nil, failure.New(names.ExitData, below, "%s: %s: want flags, not %v", path, verb, found[verb])
		}
		f.verbs[verb] = flags
	}
	return f, nil
}

// takeConfig sets flags of cmd from the settings file, and prints which ones it set.
func takeConfig(cmd *cobra.Command, streams Streams) error {
	if slices.Contains([]string{"version", "completion", "keygen", "help"}, cmd.Name()) || isAsked(cmd.Name()) {
		return nil
	}
	f, err := readConfig()
	if err != nil || f == nil {
		return err
	}
	taken, err := f.fill(cmd)
	if err != nil {
		return err
	}
	quiet, _ := cmd.Flags().GetBool("quiet") // false where there is no such flag
	format, _ := cmd.Flags().GetString("log-format")
	if format == names.LogJSON {
		streams.asJSON()
	}
	if len(taken) > 0 && !quiet {
		sayer(streams.Err)("%s sets %s", f.path, strings.Join(taken, ", "))
	}
	return nil
}

// fill sets the flags of cmd that neither the command line nor the environment has set, and
// returns their names, sorted. env and hosts have the settings of run.
func (f *configFile) fill(cmd *cobra.Command) ([]string, error) {
	verb := cmd.Name()
	asRun := slices.Contains([]string{"run", "env", "hosts"}, verb)
	if asRun {
		verb = "run"
	}
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(f.verbs[verb])) {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || name == "help" {
			return nil, failure.New(names.ExitData, failure.FlagHint(cmd.CommandPath(), name, flagNames(cmd)), "%s: %s has no setting %q", f.path, verb, name)
		}
		words, err := values(flag, f.verbs[verb][name])
		if err != nil {
			return nil, failure.New(names.ExitData, "", "%s: %s: %s: %w", f.path, verb, name, err)
		}
		if flag.Changed || asRun && os.Getenv(settings.Variable(name)) != "" {
			continue
		}
		for _, word := range words {
			if flag.Value.Set(word) != nil {
				return nil, failure.New(names.ExitData, "", "%s: %s: %s=%q: want %s", f.path, verb, name, word, takes(flag))
			}
		}
		flag.Changed = true
		flag.Annotations = maps.Clone(flag.Annotations)
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[origin] = []string{"file " + f.path}
		taken = append(taken, name)
	}
	return taken, nil
}

// values returns the words to set a flag to for a value in the file. A list gives each of its items,
// and an object gives NAME=VALUE for each field. Rules are passed as JSON.
func values(flag *pflag.Flag, value any) ([]string, error) {
	if _, isRule := flag.Value.(ruleFlag); isRule {
		if flag.Name != progress.FlagList {
			return nil, errors.New("want a list of rules, as in progress: [{expect: 'step (\\d+)', within: 10m}]")
		}
		text, err := json.Marshal(value)
		return []string{string(text)}, err
	}
	if _, isList := flag.Value.(listFlag); isList {
		text, err := json.Marshal(value)
		return []string{string(text)}, err
	}
	many := strings.HasSuffix(flag.Value.Type(), "Array") || strings.HasSuffix(flag.Value.Type(), "Slice")
	var words []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			words = append(words, fmt.Sprint(item))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			words = append(words, fmt.Sprintf("%s=%v", name, v[name]))
		}
	case nil:
		return nil, errors.New("missing value")
	default:
		return []string{fmt.Sprint(v)}, nil
	}
	if !many {
		return nil, fmt.Errorf("want %s, not a list", takes(flag))
	}
	return words, nil
}

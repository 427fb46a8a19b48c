package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
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
	found, err := decode(text)
	if err != nil {
		return nil, failure.New(names.ExitData, below, "%s: %w", path, err)
	}
	return byVerb(path, found)
}

// decode reads the only document of the file.
func decode(text []byte) (map[string]any, error) {
	var found map[string]any
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		var value any
		if err == nil {
			document, err = yaml.YAMLToJSONStrict(document)
		}
		if err == nil {
			numbers := json.NewDecoder(bytes.NewReader(document))
			numbers.UseNumber() // 10000000 is not 1e+07
			err = numbers.Decode(&value)
		}
		verbs, isObject := value.(map[string]any)
		switch {
		case err != nil:
			return nil, err
		case value == nil: // a comment
		case !isObject:
			return nil, errors.New("want verbs with flags below them, not a list or a text")
		case found != nil:
			return nil, errors.New("want one document: move all verbs before the --- in the file")
		default:
			found = verbs
		}
	}
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
			word, err := scalar(item)
			if err != nil {
				return nil, err
			}
			words = append(words, word)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			word, err := scalar(v[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			words = append(words, name+"="+word)
		}
	default:
		word, err := scalar(v)
		return []string{word}, err
	}
	if !many {
		return nil, fmt.Errorf("want %s, not a list", takes(flag))
	}
	return words, nil
}

// scalar returns a single value as text.
func scalar(value any) (string, error) {
	switch value.(type) {
	case nil:
		return "", errors.New("missing value")
	case []any, map[string]any:
		return "", errors.New("want one value, not a list or an object")
	}
	return fmt.Sprint(value), nil
}

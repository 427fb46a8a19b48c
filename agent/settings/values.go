package settings

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Values returns the settings that the spec of a LaunchJob holds, by name and as a user would type
// them; a list of objects is JSON. It leaves out fields that are missing or zero.
func Values(spec any) map[string]string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("settings: a spec as JSON: %v", err)) // impossible: it came as JSON
	}
	said := map[string]string{}
	for s := range table() {
		if s.Field == "" {
			continue
		}
		if value := at(text, s.Field); value != "" && value != "0" {
			said[s.Name] = value
		}
	}
	return said
}

// at returns the value at a path of a JSON object, or "".
func at(object json.RawMessage, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil || fields[name] == nil {
		return ""
	}
	if deeper {
		return at(fields[name], rest)
	}
	var word string
	if json.Unmarshal(fields[name], &word) == nil {
		return word
	}
	var list []string
	if json.Unmarshal(fields[name], &list) == nil {
		return strings.Join(list, ",")
	}
	return string(fields[name])
}

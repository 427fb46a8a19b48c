package settings

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Values returns what the spec of a LaunchJob says, by the names of the settings and as a user
// would type it: a list is JSON. What the spec does not say, or says with a zero, is left out.
func Values(spec any) map[string]string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("settings: a spec as JSON: %v", err)) // it has come as JSON
	}
	said := map[string]string{}
	for _, s := range table() {
		if s.Field == "" {
			continue
		}
		if value := at(text, s.Field); value != "" && value != "0" {
			said[s.Name] = value
		}
	}
	return said
}

// at returns the value at a path of a JSON object; "" if there is none.
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
	return string(fields[name])
}

package framework

import (
	"fmt"
	"strings"
)

// Merge decides which variables to set beside the user's environment (K=V; the last entry of a name
// counts). It returns the variables that the user has not set, in their order. It also returns a
// sentence for each variable that the user has set to another value, or decided by another name.
// The user's value always stays: it replaces ours, or follows it if ours only extends it.
func Merge(user []string, vars []Var) (set []Var, warnings []string) {
	for _, v := range vars {
		name, value, theirs := settled(user, v)
		switch {
		case !theirs:
			set = append(set, v)
		case v.Extend != "" && name == v.Name:
			if value != "" && value != v.Value {
				v.Value += v.Extend + value
			}
			set = append(set, v)
		case v.Default:
		case name != v.Name:
			warnings = append(warnings, fmt.Sprintf("%s=%s is set and kept, so %s=%s is left out: %s",
				name, mask(name, value), v.Name, mask(v.Name, v.Value), v.Why))
		case value != v.Value:
			warnings = append(warnings, fmt.Sprintf("%s=%s is set and kept in place of %s: %s",
				name, mask(name, value), mask(name, v.Value), v.Why))
		}
	}
	return set, warnings
}

// settled returns the name and value by which the user has decided what v decides.
func settled(user []string, v Var) (name, value string, ok bool) {
	if value, ok = lookup(user, v.Name); ok && !(v.NotEmpty && value == "") {
		return v.Name, value, true
	}
	for _, name := range v.Or {
		if value, ok = lookup(user, name); ok {
			return name, value, true
		}
	}
	return "", "", false
}

func lookup(env []string, name string) (value string, ok bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if key, value, found := strings.Cut(env[i], "="); found && key == name {
			return value, true
		}
	}
	return "", false
}

// secretWords are parts of a variable's name that mark its value as a secret.
var secretWords = []string{"SECRET", "TOKEN", "PASSW", "PWD_", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE", "AUTH", "COOKIE", "SIGNATURE"}

// LooksSecret reports whether the name of a variable marks its value as a secret, which no log,
// warning or message may show. A name that ends in KEY, PASS or PWD counts too, except for PWD and
// OLDPWD, which are the shell's directories.
func LooksSecret(name string) bool {
	upper := strings.ToUpper(name)
	if upper == "PWD" || upper == "OLDPWD" {
		return false
	}
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return strings.HasSuffix(upper, "KEY") || strings.HasSuffix(upper, "PASS") || strings.HasSuffix(upper, "PWD")
}

func mask(name, value string) string {
	if LooksSecret(name) {
		return "***"
	}
	return fmt.Sprintf("%q", value)
}

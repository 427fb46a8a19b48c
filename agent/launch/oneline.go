package launch

import "strings"

// oneLine is err's text with its lines put into one: errors.Join has one each.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

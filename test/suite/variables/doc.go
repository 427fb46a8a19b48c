// Package variables knows every environment variable that the product reads or sets. It finds the
// names in the product's source and by asking each framework for its variables, and has one table
// with the meaning of the others. docs/reference/variables.md is made of both: a name that is on one
// side only is an error.
//
// Files in reading order:
//
//   - source.go, names.go: the names in the source
//   - read.go, set.go: the tables of what is read, and what is set besides the frameworks' variables
//   - sections.go, kubeflow.go: ways to use each framework
//   - framework.go: the variables that each way sets
//   - compare.go: the source beside the tables
package variables

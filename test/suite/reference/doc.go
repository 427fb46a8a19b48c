// Package reference writes the generated parts of docs/reference. The sources are the settings of agent/settings,
// the CRD, the help of each verb, the metrics that the controller registers, the comments of constants that users see,
// and the environment variables of package variables. If a page differs from the program, `make fresh` fails. An item
// without a description is an error.
package reference

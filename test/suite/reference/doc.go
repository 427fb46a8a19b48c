// Package reference writes the generated parts of docs/reference. The sources are the settings of agent/settings,
// the CRD, the help of each verb and the environment variables of package variables. Others are the checks of agent/check, the metrics that the
// controller registers, and the comments of constants that users see. If a page differs from the program, `make fresh` fails. An item
// without a description is an error.
package reference

// Package reference writes the pages of docs/reference from what the program itself knows: the
// settings of agent/settings, the CRD, the help of each verb, the metrics that the controller
// registers, and the comments of constants that users see. A page that differs from the program
// fails `make fresh`. An item without a description is an error.
package reference

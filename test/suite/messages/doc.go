// Package messages reads the errors and warnings of the product out of its source, and the catalog of
// docs/troubleshooting that explains each of them.
package messages

// Package messages collects the errors and warnings of the product from its source, and reads the catalog in
// docs/troubleshooting that explains each of them.
package messages

// Package upload has the output of a run copied to a bucket, by the program agent-exporter beside the launcher.
// An S3 client would cost every launcher memory.
//
//	check.go   asks before the run whether the bucket can be written
//	upload.go  keeps the program running until everything is copied, or time is up
//
// Guarantees: nothing in the run waits for the bucket, except its end, up to a limit. A program that ends early
// is restarted, and continues after what is in the bucket. Close reports what is missing there.
package upload

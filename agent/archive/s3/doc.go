// Package s3 copies the directory of --output=dir=PATH to a bucket of S3, and back.
//
//	target.go       s3://BUCKET/PREFIX, and the store behind it
//	server.go       where the bucket is, and what to do about errors of the server
//	credentials.go  where the credentials come from
//	check.go        whether a run could keep its output there
//	mirror.go       copies what a run appends to its files
//	upload.go       does so from the start of a run to its end
//	fetch.go        makes a directory that package archive reads
//
// An object cannot grow. So each piece of a file is an object of its own, named by its offset:
//
//	PREFIX/run-20260102T150405Z-ab12cd/rank-3.out/00000000000000000000
//	PREFIX/run-20260102T150405Z-ab12cd/rank-3.out/00000000000000004711
//
// Each run has its own name, so no object is ever overwritten by another run. A mirror that is started
// again continues after the pieces in the bucket. The number of requests is bounded: at most ten small
// pieces a second, and one for each 8 MiB. Output waits for half a minute for more, or longer with many ranks.
//
// The client is minio-go. It is not linked into agent or agent-launcher: callers are programs of their
// own.
package s3

package s3

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Store is where pieces are kept. Names have no prefix, and slashes between their parts.
type Store interface {
	// Put creates an object, or replaces the one of that name by the same bytes.
	Put(ctx context.Context, name string, body []byte) error
	// Get opens an object.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List calls each with the objects whose names begin with prefix, in the order of their names. It
	// returns the first error of each.
	List(ctx context.Context, prefix string, each func(name string, size int64) error) error
}

// Target is the meaning of s3://BUCKET/PREFIX.
type Target struct{ Bucket, Prefix string }

// Parse reads s3://BUCKET/PREFIX. The prefix may be missing.
func Parse(text string) (Target, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Target{}, err
	case u.Scheme != "s3" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return Target{}, fmt.Errorf("%s: want s3://BUCKET/PREFIX", text)
	}
	if err := s3utils.CheckValidBucketName(u.Host); err != nil { // a store would be asked about it again and again
		return Target{}, fmt.Errorf("%s: %w", text, err)
	}
	return Target{u.Host, strings.Trim(path.Clean("/"+u.Path), "/")}, nil
}

// bucket is a Store in a bucket.
type bucket struct {
	Target
	client *minio.Client
}

// retries is how often a request is sent, for errors that pass within a second. The callers have limits of
// their own.
const retries = 3

// Open returns the store of a target. It makes no request. Credentials come from the variables of AWS,
// from its files, or from the identity of the pod or the machine.
func (t Target) Open(at Server) (Store, error) {
	endpoint := cmp.Or(at.Endpoint, amazon)
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("endpoint %s: want a URL, as in https://s3.example.com", endpoint)
	}
	lookup := minio.BucketLookupAuto
	if endpoint != amazon {
		lookup = minio.BucketLookupPath // a name for each bucket needs a wildcard in DNS
	}
	transport, err := at.transport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: newChain(os.Getenv), Transport: transport, MaxRetries: retries,
		Secure: u.Scheme == "https", BucketLookup: lookup, Region: at.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t, err)
	}
	return bucket{t, client}, nil
}

// String returns t as s3://BUCKET/PREFIX.
func (t Target) String() string { return "s3://" + path.Join(t.Bucket, t.Prefix) }

// key returns the key of an object of that name.
func (t Target) key(name string) string { return strings.TrimPrefix(t.Prefix+"/"+name, "/") }

// Put implements Store.
func (b bucket) Put(ctx context.Context, name string, body []byte) error {
	_, err := b.client.PutObject(ctx, b.Bucket, b.key(name), bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return fmt.Errorf("write %s/%s: %w", b, name, err)
	}
	return nil
}

// Get implements Store.
func (b bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.Bucket, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", b, name, err)
	}
	return object, nil
}

// List implements Store.
func (b bucket) List(ctx context.Context, prefix string, each func(name string, size int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for object := range b.client.ListObjectsIter(ctx, b.Bucket, minio.ListObjectsOptions{Prefix: b.key(prefix), Recursive: true}) {
		if object.Err != nil {
			return fmt.Errorf("list %s/%s: %w", b, prefix, object.Err)
		}
		if err := each(strings.TrimPrefix(object.Key, b.key("")), object.Size); err != nil {
			return err
		}
	}
	return nil
}

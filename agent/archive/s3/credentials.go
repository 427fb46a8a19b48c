package s3

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

var (
	// errNoCredentials reports that there are no credentials. A bucket that anybody may write is no place for output.
	errNoCredentials = errors.New("no credentials of AWS found")
	// errNotNow reports that there are credentials, and that the service which gives them does not do so now.
	errNotNow = errors.New("cannot get credentials of AWS")
)

// identityTime bounds a request for credentials. A machine outside of AWS has no server for them.
const identityTime = 5 * time.Second

// chain takes credentials from the first provider that has some. Unlike that of minio-go, it returns the errors
// of the others if none has.
type chain struct {
	providers []credentials.Provider
	current   credentials.Provider // nil: none has been found yet
	ofPod     bool                 // the pod has an identity
}

// newChain returns credentials from the variables of AWS, its files, or the identity of the pod or the machine.
func newChain(getenv func(string) string) *credentials.Credentials {
	c := &chain{providers: []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}}
	c.ofPod = getenv("AWS_WEB_IDENTITY_TOKEN_FILE")+getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")+getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != ""
	if c.ofPod || getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		c.providers = append(c.providers, &credentials.IAM{Client: &http.Client{Timeout: identityTime}})
	}
	return credentials.New(c)
}

// Retrieve implements credentials.Provider.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext implements credentials.Provider.
func (c *chain) RetrieveWithCredContext(in *credentials.CredContext) (credentials.Value, error) {
	var failed []error
	for _, p := range c.providers {
		value, err := p.RetrieveWithCredContext(in)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.current = p
			return value, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	err, why := errors.Join(failed...), errNoCredentials
	var unanswered *url.Error
	switch {
	case err == nil:
		return credentials.Value{}, why
	case c.current != nil, c.ofPod && errors.As(err, &unanswered):
		why = errNotNow
	}
	return credentials.Value{}, fmt.Errorf("%w: %w", why, err)
}

// IsExpired implements credentials.Provider.
func (c *chain) IsExpired() bool { return c.current == nil || c.current.IsExpired() }

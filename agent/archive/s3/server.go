package s3

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/minio/minio-go/v7"
)

// amazon is the endpoint of Amazon's own service.
const amazon = "https://s3.amazonaws.com"

// Server is where a bucket is. The zero value is Amazon's service.
type Server struct {
	Endpoint string // URL; "": Amazon's
	Region   string // "": found out
	Bundle   string // file with certificates of authorities, in PEM; "": the machine's
}

// ServerOf returns the server that the variables of the AWS CLI name.
func ServerOf(getenv func(string) string) Server {
	s := Server{Region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")), Bundle: getenv("AWS_CA_BUNDLE")}
	if getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true" {
		s.Endpoint = cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"))
	}
	return s
}

// transport returns the transport for a server with certificates of its own, or nil.
func (s Server) transport(secure bool) (http.RoundTripper, error) {
	if s.Bundle == "" || !secure {
		return nil, nil
	}
	text, err := os.ReadFile(s.Bundle)
	if err != nil {
		return nil, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("AWS_CA_BUNDLE: no certificate in %s", s.Bundle)
	}
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig.RootCAs = roots
	return t, nil
}

// Hint returns what to do about an error of a store, or "".
func Hint(err error) string {
	var answer minio.ErrorResponse
	var invalid *tls.CertificateVerificationError
	_ = errors.As(err, &answer) // else it has no code
	switch answer.Code {
	case minio.NoSuchBucket:
		return "create the bucket, or check AWS_ENDPOINT_URL and AWS_REGION"
	case minio.AuthorizationHeaderMalformed, minio.InvalidRegion, otherRegion:
		return "set AWS_REGION to the region of the bucket: on EKS it is that of the cluster"
	case minio.RequestTimeTooSkewed:
		return "correct the clock of this node, or of the server"
	case minio.AccessDenied:
		return "grant s3:ListBucket on the bucket, and s3:PutObject and s3:GetObject on its objects"
	case "SignatureDoesNotMatch", "InvalidAccessKeyId", "InvalidAccessKeyID", "ExpiredToken", "InvalidToken":
		return "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
	}
	switch {
	case errors.Is(err, errNoCredentials):
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod's service account a role"
	case errors.Is(err, errNotNow):
		return "check that this pod may connect to the service that gives it credentials"
	case errors.As(err, &invalid):
		return "install ca-certificates in the image, or name a file with AWS_CA_BUNDLE"
	}
	return "check AWS_ENDPOINT_URL, and that this pod may connect to it"
}

// otherRegion is the code of the answer if a bucket is in another region.
const otherRegion = "PermanentRedirect"

// IsLasting reports whether an error will come again if nothing changes: a missing bucket, a missing right, wrong
// credentials. Others may pass, such as a server that does not answer.
func IsLasting(err error) bool {
	var answer minio.ErrorResponse
	var invalid *tls.CertificateVerificationError
	if errors.Is(err, errNoCredentials) || errors.As(err, &invalid) {
		return true
	}
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Code {
	case "RequestTimeout", "OperationAborted": // Amazon's status for them is 400 and 409
		return false
	case otherRegion:
		return true
	}
	return answer.StatusCode >= 400 && answer.StatusCode < 500 && answer.StatusCode != http.StatusRequestTimeout && answer.StatusCode != http.StatusTooManyRequests
}

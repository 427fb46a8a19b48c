package progress

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	authv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Audience is the audience of the tokens that pods send. The API server accepts no such token.
const Audience = "muster.dev/progress"

const (
	// reviewedFor is how long the result of a review holds. A token that is revoked meanwhile can
	// still change a line in a status.
	reviewedFor = time.Minute
	// mostReviews bounds the results in memory.
	mostReviews = 4096
	// reviewsPerSecond and reviewBurst bound what strangers can make the API server do.
	reviewsPerSecond, reviewBurst = 20, 100
)

// Names of what the API server says about the pod of a token.
const (
	extraPod = "authentication.kubernetes.io/pod-name"
	extraUID = "authentication.kubernetes.io/pod-uid"
)

// sender is the pod that sent a request.
type sender struct{ namespace, pod, uid string }

// Errors of who.
var (
	errRefused = errors.New("the token is not valid")
	errBusy    = errors.New("too many tokens to review")
)

// senders finds out which pods send requests.
type senders struct {
	api    client.Client
	limit  *rate.Limiter
	mu     sync.Mutex
	review map[[sha256.Size]byte]reviewed
}

// reviewed is the result of a review.
type reviewed struct {
	from  sender
	valid bool
	until time.Time
}

func newSenders(api client.Client) *senders {
	return &senders{api: api, limit: rate.NewLimiter(reviewsPerSecond, reviewBurst), review: map[[sha256.Size]byte]reviewed{}}
}

// who returns the pod to which a token is bound.
func (s *senders) who(ctx context.Context, token string, now time.Time) (sender, error) {
	key := sha256.Sum256([]byte(token))
	s.mu.Lock()
	known, ok := s.review[key]
	s.mu.Unlock()
	if !ok || now.After(known.until) {
		if !s.limit.AllowN(now, 1) {
			return sender{}, errBusy
		}
		var err error
		if known, err = s.ask(ctx, token); err != nil {
			return sender{}, err
		}
		known.until = now.Add(reviewedFor)
		s.keep(key, known, now)
	}
	if !known.valid {
		return sender{}, errRefused
	}
	return known.from, nil
}

// ask has the API server review a token.
func (s *senders) ask(ctx context.Context, token string) (reviewed, error) {
	r := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	if err := s.api.Create(ctx, r); err != nil {
		return reviewed{}, fmt.Errorf("review the token: %w", err)
	}
	user := r.Status.User
	account, isAccount := strings.CutPrefix(user.Username, "system:serviceaccount:")
	namespace, _, _ := strings.Cut(account, ":")
	one := func(name string) string {
		if v := user.Extra[name]; len(v) == 1 {
			return v[0]
		}
		return ""
	}
	from := sender{namespace, one(extraPod), one(extraUID)}
	ours := false
	for _, a := range r.Status.Audiences { // an API server that knows no audiences returns none
		ours = ours || a == Audience
	}
	return reviewed{from: from, valid: r.Status.Authenticated && isAccount && ours && from.pod != "" && from.uid != ""}, nil
}

// keep stores a result, and removes old ones.
func (s *senders) keep(key [sha256.Size]byte, r reviewed, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.review) >= mostReviews {
		for k, old := range s.review {
			if now.After(old.until) {
				delete(s.review, k)
			}
		}
		if len(s.review) >= mostReviews {
			clear(s.review)
		}
	}
	s.review[key] = r
}

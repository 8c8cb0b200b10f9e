package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// mayFresh is how long the API server's word about who may what is believed.
	mayFresh = 5 * time.Second
	// mayMost bounds how many answers are kept.
	mayMost = 4096
)

// Authority asks an API server who may do what. Make it with NewAuthority. It is safe for concurrent use.
type Authority struct {
	client client.Client
	now    func() time.Time

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	allowed bool
	at      time.Time
}

// NewAuthority returns an Authority that asks by c.
func NewAuthority(c client.Client, now func() time.Time) *Authority {
	return &Authority{client: c, now: now, answers: map[string]answer{}}
}

// May says whether the user may. An answer is believed for five seconds.
func (a *Authority) May(ctx context.Context, as As, what authorizationv1.ResourceAttributes) (bool, error) {
	groups := slices.Sorted(slices.Values(as.Groups))
	key := strings.Join([]string{
		as.User, strings.Join(groups, "\x00"), what.Verb, what.Group, what.Resource, what.Subresource, what.Namespace, what.Name,
	}, "\x01")
	a.mu.Lock()
	have, ok := a.answers[key]
	a.mu.Unlock()
	if ok && a.now().Sub(have.at) < mayFresh {
		return have.allowed, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: as.User, Groups: as.Groups, ResourceAttributes: &what,
	}}
	if err := a.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s may %s %s: %w", as.User, what.Verb, what.Resource, err)
	}
	a.keep(key, answer{review.Status.Allowed, a.now()})
	return review.Status.Allowed, nil
}

func (a *Authority) keep(key string, given answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) >= mayMost {
		clear(a.answers)
	}
	a.answers[key] = given
}

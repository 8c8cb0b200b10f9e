package provisiontest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/clusters/provision"
)

const (
	// shortCall is a deadline that passes while the outside hangs.
	shortCall = 50 * time.Millisecond
	// patience is how long the suite waits for a call that has to end by itself.
	patience = 30 * time.Second
)

// anotherFindsThem: after a restart a driver knows nothing but the target.
func anotherFindsThem(t *testing.T, s Subject) {
	if s.Again == nil {
		t.Skip("the driver holds nothing in memory")
	}
	want := s.Want(t)
	s.healthy(t, want)
	before := s.Outside(t, want.Namespace, want.Name)
	s.Driver = s.Again(t)
	if o, err := s.Driver.Observe(t.Context(), want.Target); err != nil || o.State != provision.Healthy {
		t.Errorf("another KQueen sees %q, %v; want the healthy cluster", o.State, err)
	}
	s.ensure(t, want)
	if after := s.Outside(t, want.Namespace, want.Name); !same(before, after) {
		t.Errorf("another KQueen created it again: it was %v and is %v", before, after)
	}
	s.remove(t, want.Target)
}

// endsWithItsContext: a call that the outside does not answer ends when its context does, and says nothing of the
// cluster.
func endsWithItsContext(t *testing.T, s Subject) {
	if s.Hang == nil {
		t.Skip("the outside cannot be made to hang")
	}
	want := s.Want(t)
	s.healthy(t, want)
	answer := s.Hang(t, want.Ref)
	for name, call := range map[string]func(context.Context) error{
		"Observe": func(ctx context.Context) error { _, err := s.Driver.Observe(ctx, want.Target); return err },
		"Ensure":  func(ctx context.Context) error { return s.Driver.Ensure(ctx, want) },
		"Delete": func(ctx context.Context) error {
			gone, err := s.Driver.Delete(ctx, want.Target)
			if gone {
				t.Error("Delete says gone of what does not answer")
			}
			return err
		},
	} {
		ended := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), shortCall)
		go func() { ended <- call(ctx) }()
		select {
		case err := <-ended:
			if err == nil || errors.Is(err, provision.ErrNotFound) {
				t.Errorf("%s of what does not answer: want a failure, got %v", name, err)
			}
		case <-time.After(patience):
			t.Errorf("%s goes on after its context has ended", name)
		}
		cancel()
	}
	answer()
	s.remove(t, want.Target)
}

// wrongCredentials: what cannot be seen with the credentials at hand is not gone.
func wrongCredentials(t *testing.T, s Subject) {
	keys := s.Driver.Describe().Credentials
	if len(keys) == 0 {
		t.Skip("the driver takes no credentials")
	}
	want := s.Want(t)
	s.healthy(t, want)
	for _, key := range keys {
		if key.Optional {
			continue
		}
		wrong := want.Target
		wrong.Credentials = maps.Clone(want.Credentials)
		wrong.Credentials[key.Key] = []byte("no-credential-is-this")
		if _, err := s.Driver.Observe(t.Context(), wrong); err == nil || errors.Is(err, provision.ErrNotFound) {
			t.Errorf("Observe with a wrong %s: want a failure, got %v", key.Key, err)
		}
		if gone, err := s.Driver.Delete(t.Context(), wrong); gone || err == nil {
			t.Errorf("Delete with a wrong %s: want a failure, got %v, %v", key.Key, gone, err)
		}
	}
	s.remove(t, want.Target)
}

// clusterCredentials: those that are right are taken, also as they are kept then, and nothing changes; those that are wrong say
// nothing of the cluster, and do not keep it from being let go.
func clusterCredentials(t *testing.T, s Subject) {
	checker, ok := s.Driver.(provision.CredentialChecker)
	if !ok {
		t.Skip("the driver has no provision.CredentialChecker")
	}
	want := s.Want(t)
	before := s.Outside(t, want.Namespace, want.Name)
	kept, err := checker.CheckCredentials(t.Context(), want.Target)
	if err != nil {
		t.Fatalf("check right credentials: %v", err)
	}
	again := want.Target
	again.ClusterCredentials = kept
	if twice, err := checker.CheckCredentials(t.Context(), again); err != nil || !same(kept, twice) {
		t.Errorf("what is kept is not taken again as it is: %v", err)
	}
	for _, key := range s.Driver.Describe().ClusterCredentials {
		wrong := want.Target
		wrong.ClusterCredentials = maps.Clone(want.ClusterCredentials)
		wrong.ClusterCredentials[key.Key] = []byte("no-credential-is-this")
		if _, err := checker.CheckCredentials(t.Context(), wrong); err == nil || bytes.Contains([]byte(err.Error()), wrong.ClusterCredentials[key.Key]) {
			t.Errorf("check a wrong %s: want a failure that does not repeat it, got %v", key.Key, err)
		}
		if _, err := s.Driver.Observe(t.Context(), wrong); err == nil || errors.Is(err, provision.ErrNotFound) {
			t.Errorf("Observe with a wrong %s: want a failure, got %v", key.Key, err)
		}
		if gone, err := s.Driver.Delete(t.Context(), wrong); err != nil || !gone {
			t.Errorf("Delete with a wrong %s: want gone, got %v, %v", key.Key, gone, err)
		}
	}
	if after := s.Outside(t, want.Namespace, want.Name); !same(before, after) {
		t.Errorf("looking changed the outside: it was %v and is %v", before, after)
	}
}

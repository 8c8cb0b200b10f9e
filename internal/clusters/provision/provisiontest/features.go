package provisiontest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
)

func same(a, b any) bool { return cmp.Equal(a, b) }

// versions: what a driver offers, Check takes; and nothing is offered twice.
func versions(t *testing.T, s Subject) {
	upgrader, ok := s.Driver.(provision.Upgrader)
	if !ok {
		t.Skip("the driver has no provision.Upgrader")
	}
	want := s.Want(t)
	for name, have := range map[string]*provision.Desired{"of a new cluster": nil, "of one that runs": &want} {
		from := ""
		if have != nil {
			from = have.Version
		}
		all, err := upgrader.Versions(t.Context(), want.Target, from)
		if err != nil {
			t.Fatalf("versions %s: %v", name, err)
		}
		if have == nil && !slices.Contains(all, want.Version) {
			t.Errorf("versions %s are %v; want %s among them, which the driver takes", name, all, want.Version)
		}
		for i, version := range all {
			next := want
			next.Version = version
			if err := s.Driver.Check(t.Context(), have, next); err != nil {
				t.Errorf("versions %s: %s is offered and refused: %v", name, version, err)
			}
			if version == from || slices.Contains(all[:i], version) {
				t.Errorf("versions %s are %v; want each once, without the one that runs", name, all)
			}
		}
	}
}

// kubeconfigs: each ends, and none is made of what is not there.
func kubeconfigs(t *testing.T, s Subject) {
	minter, ok := s.Driver.(provision.KubeconfigMinter)
	if !ok {
		t.Skip("the driver has no provision.KubeconfigMinter")
	}
	want := s.Want(t)
	if minted, err := minter.MintKubeconfig(t.Context(), want.Target, time.Hour); err == nil || len(minted.Kubeconfig) > 0 {
		t.Errorf("a kubeconfig is made for a cluster that is not there: %v", err)
	}
	s.healthy(t, want)
	before := s.Outside(t, want.Namespace, want.Name)
	for range 2 {
		minted, err := minter.MintKubeconfig(t.Context(), want.Target, time.Hour)
		if err != nil || !bytes.Contains(minted.Kubeconfig, []byte("server:")) || !minted.Ends.After(time.Now()) {
			t.Errorf("want a kubeconfig that is valid for a while, got %d bytes until %v: %v", len(minted.Kubeconfig), minted.Ends, err)
		}
	}
	if after := s.Outside(t, want.Namespace, want.Name); !same(before, after) {
		t.Errorf("minting left something: it was %v and is %v", before, after)
	}
	s.remove(t, want.Target)
}

// nodePools makes a pool, grows it, and removes one of two; the other goes with its cluster.
func nodePools(t *testing.T, s Subject) {
	pooler, ok := s.Driver.(provision.NodePooler)
	if !ok {
		t.Skip("the driver has no provision.NodePooler")
	}
	want := s.Want(t)
	before := s.Outside(t, want.Namespace, want.Name)
	s.healthy(t, want)
	first, second := s.NodePool(t), s.NodePool(t)
	first.Name, second.Name = "first", "second"
	ready := func(pool provision.NodePool) {
		t.Helper()
		for range mostLooks {
			o, err := pooler.EnsureNodePool(t.Context(), want.Target, pool)
			if err != nil {
				t.Fatalf("ensure node pool %s: %v", pool.Name, err)
			}
			if o.Ready == pool.Replicas && o.Message == "" {
				return
			}
			s.progress(t, want.Ref)
		}
		t.Fatalf("node pool %s is not ready after %d looks", pool.Name, mostLooks)
	}
	ready(first)
	ready(second)
	settled := s.Outside(t, want.Namespace, want.Name)
	ready(first)
	if after := s.Outside(t, want.Namespace, want.Name); !same(settled, after) {
		t.Errorf("ensuring a pool that is as wanted changed the outside: it was %v and is %v", settled, after)
	}
	first.Replicas++
	ready(first)
	wantPools(t, pooler, want.Target, "first", "second")
	for range mostLooks {
		gone, err := pooler.DeleteNodePool(t.Context(), want.Target, "first")
		if err != nil {
			t.Fatalf("delete node pool: %v", err)
		}
		if gone {
			break
		}
		s.progress(t, want.Ref)
	}
	wantPools(t, pooler, want.Target, "second")
	if gone, err := pooler.DeleteNodePool(t.Context(), want.Target, "never"); err != nil || !gone {
		t.Errorf("delete a pool that never was: want gone, got %v, %v", gone, err)
	}
	s.remove(t, want.Target)
	if diff := cmp.Diff(before, s.Outside(t, want.Namespace, want.Name)); diff != "" {
		t.Errorf("something is left of a cluster with pools (-before +after):\n%s", diff)
	}
}

func wantPools(t *testing.T, pooler provision.NodePooler, of provision.Target, want ...string) {
	t.Helper()
	if got, err := pooler.NodePools(t.Context(), of); err != nil || !slices.Equal(got, want) {
		t.Errorf("node pools are %v, %v; want %v", got, err, want)
	}
}

// adoption takes over a cluster, keeps it from a second owner, and lets go of it.
func adoption(t *testing.T, s Subject) {
	adopter, ok := s.Driver.(provision.Adopter)
	if !ok {
		t.Skip("the driver has no provision.Adopter")
	}
	want := s.Want(t)
	if err := adopter.Adopt(t.Context(), want, "no-such-cluster"); !errors.Is(err, provision.ErrNotFound) {
		t.Errorf("adopt what is not there: want ErrNotFound, got %v", err)
	}
	id := s.Foreign(t, want)
	for range 2 {
		if err := adopter.Adopt(t.Context(), want, id); err != nil {
			t.Fatalf("adopt: %v", err)
		}
	}
	if o := s.healthy(t, want); o.Endpoint == "" {
		t.Error("the adopted cluster has no endpoint")
	}
	other := want
	other.UID = uuid.NewUUID()
	if _, ok := errors.AsType[*invalid.Error](adopter.Adopt(t.Context(), other, id)); !ok {
		t.Error("a cluster that is adopted can be adopted by another one")
	}
	for range 2 {
		if err := adopter.Release(t.Context(), want.Target); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if _, err := s.Driver.Observe(t.Context(), want.Target); !errors.Is(err, provision.ErrNotFound) {
		t.Errorf("observe what was released: want ErrNotFound, got %v", err)
	}
	if gone, err := s.Driver.Delete(t.Context(), want.Target); err != nil || !gone {
		t.Errorf("delete what was released: want gone, got %v, %v", gone, err)
	}
	if err := adopter.Adopt(t.Context(), other, id); err != nil {
		t.Errorf("adopt what was released, and still runs: %v", err)
	}
	s.remove(t, other.Target)
}

// sizes gives a control plane each size, and refuses one that is none.
func sizes(t *testing.T, s Subject) {
	resizer, ok := s.Driver.(provision.Resizer)
	if !ok {
		t.Skip("the driver has no provision.Resizer")
	}
	want := s.Want(t)
	s.healthy(t, want)
	all, err := resizer.Sizes(t.Context(), want.Target)
	if err != nil || len(all) == 0 {
		t.Fatalf("sizes are %v, %v; want some", all, err)
	}
	for _, size := range all {
		if err := resizer.Resize(t.Context(), want.Target, size); err != nil {
			t.Fatalf("resize to %s: %v", size, err)
		}
		reached := false
		for range mostLooks {
			o, err := s.Driver.Observe(t.Context(), want.Target)
			if reached = err == nil && o.Size == size && o.State == provision.Healthy; reached {
				break
			}
			s.progress(t, want.Ref)
		}
		if !reached {
			t.Errorf("size %s is not reached after %d looks", size, mostLooks)
		}
	}
	if _, ok := errors.AsType[*invalid.Error](resizer.Resize(t.Context(), want.Target, "no-such-size")); !ok {
		t.Error("a size that is none is taken")
	}
	s.remove(t, want.Target)
}

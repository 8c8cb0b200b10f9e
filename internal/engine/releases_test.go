package engine

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
)

// TestBuilt: a version that is built while KQueen runs gets a Release, and one that an administrator has deleted does not come back.
func TestBuilt(t *testing.T) {
	c := controlplanetest.Client(t)
	of := func(name string) release.Binaries {
		v, err := release.ParseVersion(name)
		if err != nil {
			t.Fatal(err)
		}
		return release.Binaries{Version: v}
	}
	deleted, late := of("v1.30.1"), of("v1.30.2")
	tick, damaged := make(chan time.Time), errors.New("v1.30.9 is damaged")
	var there atomic.Pointer[[]release.Binaries]
	there.Store(&[]release.Binaries{deleted})
	b := &Built{
		Client: c, Known: *there.Load(), Failed: func(err error) { t.Error(err) },
		List: func() ([]release.Binaries, error) { return *there.Load(), damaged },
	}
	go b.Follow(t.Context(), tick)
	look := func() { tick <- time.Time{}; tick <- time.Time{} } // the second is taken when the first look has ended
	look()
	there.Store(&[]release.Binaries{deleted, late})
	look()
	for version, want := range map[release.Version]bool{deleted.Version: false, late.Version: true} {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: version.String()}}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r)
		if there := err == nil; there != want || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%s is there: %t, want %t (%v)", version, there, want, err)
		}
	}
}

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// cloud is where the test's driver makes clusters: it survives a crash of the reconciler.
type cloud struct {
	mu       sync.Mutex
	clusters map[types.UID]*made
	refuse   error // of Check
	// credentials are those that the driver takes.
	credentials []provision.Credential
	// silent says whether calls with such a target wait for an answer that does not come.
	silent func(provision.Target) bool
	asked  int // calls that were made to the cloud
	// waiting are the clusters for which clients wait while they sleep.
	waiting map[types.UID]bool
}

// at returns the cluster of a target, where the target's parameters look for it.
func (c *cloud) at(of provision.Target) *made {
	m := c.clusters[of.UID]
	if m == nil || string(m.want.ProvisionerParameters) != string(of.ProvisionerParameters) {
		return nil
	}
	return m
}

// call lets a call begin.
func (c *cloud) call(ctx context.Context, of provision.Target) error {
	c.mu.Lock()
	c.asked++
	silent := c.silent != nil && c.silent(of)
	c.mu.Unlock()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// made is a cluster of the cloud. It takes several steps to come and one to go.
type made struct {
	want     provision.Desired // which the cloud works on
	next     provision.Desired // which it was told last and takes up with the next step
	age      int
	deleting bool
	made     int // how often it was made: more than once is a leak
}

const servingAge = 2

// step lets time pass in the cloud.
func (c *cloud) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, m := range c.clusters {
		if m.deleting {
			delete(c.clusters, uid)
			continue
		}
		m.age++
		if m.want.Version != m.next.Version {
			m.want, m.age = m.next, 0
		}
	}
}

// driver leads to the cloud through an injector.
type driver struct {
	*cloud
	inj *operatortest.Injector
}

func (d driver) Describe() provision.Description {
	return provision.Description{
		Credentials:       d.credentials,
		Name:              "test",
		Summary:           "Clusters of the test.",
		ProvisionerSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"region":{"enum":["north","south"]}}}`),
		ClusterSchema:     json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"size":{"type":"integer","minimum":1}}}`),
	}
}

func (d driver) Check(_ context.Context, have *provision.Desired, want provision.Desired) error {
	return d.inj.Read("driver.Check", func() error {
		if have != nil && string(have.ClusterParameters) != string(want.ClusterParameters) {
			return invalid.New("spec.parameters.size", "was %s and cannot be changed", have.ClusterParameters)
		}
		return d.refuse
	})
}

func (d driver) Ensure(ctx context.Context, want provision.Desired) error {
	return d.inj.Call("driver.Ensure", func() error {
		if err := d.call(ctx, want.Target); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.at(want.Target)
		if m == nil {
			m = &made{want: want, made: 1}
			d.clusters[want.UID] = m
		}
		if m.deleting {
			return errors.New("the cluster is being deleted")
		}
		m.next = want
		return nil
	})
}

func (d driver) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	return operatortest.ReadValue(d.inj, "driver.Observe", func() (provision.Observed, error) {
		if err := d.call(ctx, of); err != nil {
			return provision.Observed{}, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.at(of)
		if m == nil {
			return provision.Observed{}, provision.ErrNotFound
		}
		o := provision.Observed{State: provision.Creating, Message: "machines are coming up", Steps: []v1alpha1.Step{{Name: "Machines", Done: m.age > 0}}}
		if m.age > 0 {
			o.Kubeconfig, o.Endpoint = []byte("kubeconfig of "+of.Name+" at "+m.want.Version), "https://192.0.2.1:6443"
		}
		if m.next.Asleep {
			o.State, o.Version = provision.Asleep, m.want.Version
		} else if m.age >= servingAge {
			o.State, o.Message, o.Version = provision.Healthy, "", m.want.Version
		}
		return o, nil
	})
}

func (d driver) Delete(ctx context.Context, of provision.Target) (bool, error) {
	return operatortest.Value(d.inj, "driver.Delete", func() (bool, error) {
		if err := d.call(ctx, of); err != nil {
			return false, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.at(of)
		if m == nil {
			return true, nil
		}
		m.deleting = true
		return false, nil
	})
}

func (d driver) Waits(_ context.Context, of provision.Target) (bool, error) {
	return operatortest.ReadValue(d.inj, "driver.Waits", func() (bool, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.waiting[of.UID], nil
	})
}

func (d driver) Woken(_ context.Context, of provision.Target) error {
	return d.inj.Call("driver.Woken", func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, of.UID)
		return nil
	})
}

var _ provision.Hibernator = driver{}

// minting is a driver whose kubeconfigs end.
type minting struct {
	driver

	lifetime time.Duration
	minted   int
}

func (m *minting) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	o, err := m.driver.Observe(ctx, of)
	o.Kubeconfig = nil
	return o, err
}

func (m *minting) MintKubeconfig(_ context.Context, of provision.Target, _ time.Duration) (provision.Minted, error) {
	m.minted++
	return provision.Minted{Kubeconfig: fmt.Appendf(nil, "kubeconfig %d of %s", m.minted, of.Name), Ends: time.Now().Add(m.lifetime)}, nil
}

var _ provision.KubeconfigMinter = (*minting)(nil)

// given is a driver whose clusters are reached by what a user has set for each.
type given struct{ driver }

func (g given) Describe() provision.Description {
	about := g.driver.Describe()
	about.ClusterCredentials = []provision.Credential{{Key: "kubeconfig", Description: "What the cluster is reached by."}}
	return about
}

func (g given) CheckCredentials(_ context.Context, of provision.Target) (provision.Credentials, error) {
	if string(of.ClusterCredentials["kubeconfig"]) == "wrong" {
		return of.ClusterCredentials, provision.ErrCredentials
	}
	return of.ClusterCredentials, nil
}

func (g given) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	if _, err := g.CheckCredentials(ctx, of); err != nil {
		return provision.Observed{}, err
	}
	o, err := g.driver.Observe(ctx, of)
	o.Kubeconfig = nil
	return o, err
}

var _ provision.CredentialChecker = given{}

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// cloud is where the test's driver makes clusters: it survives a crash of the reconciler.
type cloud struct {
	mu       sync.Mutex
	clusters map[types.UID]*made
	refuse   error // of Check
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

func (driver) Describe() provision.Description {
	return provision.Description{
		Name:              "test",
		Summary:           "Clusters of the test.",
		ProvisionerSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"region":{"enum":["north","south"]}}}`),
		ClusterSchema:     json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"size":{"type":"integer","minimum":1}}}`),
	}
}

func (d driver) Check(_ context.Context, have *provision.Desired, want provision.Desired) error {
	return d.inj.Read("driver.Check", func() error {
		if have != nil && string(have.ClusterParameters) != string(want.ClusterParameters) {
			return &provision.InvalidError{Field: "spec.parameters.size", Problem: fmt.Sprintf("was %s and cannot be changed", have.ClusterParameters)}
		}
		return d.refuse
	})
}

func (d driver) Ensure(_ context.Context, want provision.Desired) error {
	return d.inj.Call("driver.Ensure", func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.clusters[want.UID]
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

func (d driver) Observe(_ context.Context, ref provision.Ref) (provision.Observed, error) {
	return operatortest.ReadValue(d.inj, "driver.Observe", func() (provision.Observed, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.clusters[ref.UID]
		if m == nil {
			return provision.Observed{}, provision.ErrNotFound
		}
		o := provision.Observed{State: provision.Creating, Message: "machines are coming up", Steps: []v1alpha1.Step{{Name: "Machines", Done: m.age > 0}}}
		if m.age > 0 {
			o.Kubeconfig, o.Endpoint = []byte("kubeconfig of "+ref.Name+" at "+m.want.Version), "https://192.0.2.1:6443"
		}
		if m.age >= servingAge {
			o.State, o.Message, o.Version = provision.Serving, "", m.want.Version
		}
		return o, nil
	})
}

func (d driver) Delete(_ context.Context, ref provision.Ref) (bool, error) {
	return operatortest.Value(d.inj, "driver.Delete", func() (bool, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		m := d.clusters[ref.UID]
		if m == nil {
			return true, nil
		}
		m.deleting = true
		return false, nil
	})
}

var _ provision.Driver = driver{}

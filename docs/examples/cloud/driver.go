// Package cloud is the driver that docs/development/drivers.md shows: clusters of a vendor that has an HTTP API.
//
// It hides that API. It is an example: nothing imports it, and its tests are the contract suite.
package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// longestAnswer bounds, in bytes, what is read of an answer.
const longestAnswer = 1 << 20

// Driver makes clusters in the cloud. It holds nothing of them: each call is given all that it takes.
type Driver struct{ HTTP *http.Client }

var _ provision.Driver = (*Driver)(nil)

// settings are what the schema of a Provisioner's parameters describes.
type settings struct {
	URL    string `json:"url"`
	Region string `json:"region"`
}

// record is a cluster as the cloud shows it.
type record struct {
	ID       string           `json:"id"`
	Owner    string           `json:"owner"` // the Cluster's UID; empty where KQueen did not make it
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	Size     string           `json:"size"`
	State    string           `json:"state"` // creating, running, changing, deleting
	Endpoint string           `json:"endpoint"`
	Pools    map[string]int32 `json:"pools"` // nodes that are ready
}

// Describe says what the driver is.
func (*Driver) Describe() provision.Description {
	return provision.Description{
		Name:    "cloud",
		Summary: "Clusters of an example vendor.",
		ProvisionerSchema: json.RawMessage(`{
  "type": "object", "additionalProperties": false, "required": ["url", "region"],
  "properties": {
    "url": {"type": "string", "minLength": 1, "title": "URL of the cloud's API"},
    "region": {"type": "string", "enum": ["north", "south"], "title": "Region"}
  }
}`),
		ClusterSchema: json.RawMessage(`{"type": "object", "additionalProperties": false}`),
		Credentials:   []provision.Credential{{Key: "token", Description: "A token of the cloud that may create clusters."}},
	}
}

// Check refuses a version that the cloud does not have, or to which a cluster cannot go.
func (d *Driver) Check(ctx context.Context, have *provision.Desired, want provision.Desired) error {
	from := ""
	if have != nil {
		if from = have.Version; from == want.Version {
			return nil
		}
	}
	offered, err := d.Versions(ctx, want.Target, from)
	if err != nil || slices.Contains(offered, want.Version) {
		return err
	}
	return invalid.New("spec.version", "the cloud cannot make %q", want.Version)
}

// Ensure orders the cluster, or its new version. The id comes from the UID, so that a second try after a crash orders
// nothing twice.
func (d *Driver) Ensure(ctx context.Context, want provision.Desired) error {
	have, err := d.find(ctx, want.Target)
	if errors.Is(err, provision.ErrNotFound) {
		order := record{Owner: string(want.UID), Name: want.Namespace + "/" + want.Name, Version: want.Version}
		return d.call(ctx, want.Target, http.MethodPut, "clusters/kq-"+string(want.UID), order, nil)
	}
	if err != nil || have.Version == want.Version {
		return err
	}
	return d.call(ctx, want.Target, http.MethodPatch, "clusters/"+have.ID, record{Version: want.Version}, nil)
}

// Observe asks the cloud how the cluster is.
func (d *Driver) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	have, err := d.find(ctx, of)
	if err != nil {
		return provision.Observed{}, err
	}
	o := provision.Observed{State: provision.Healthy, Version: have.Version, Endpoint: have.Endpoint, Size: have.Size}
	switch have.State {
	case "creating":
		o.State, o.Message = provision.Creating, "the cloud is making the control plane"
	case "changing", "deleting":
		o.State, o.Message = provision.Degraded, "the cloud is "+have.State+" the cluster"
	}
	o.Steps = []v1alpha1.Step{{Name: "Control plane", Done: o.State != provision.Creating}}
	return o, nil
}

// Delete orders the end of the cluster, and says gone when the cloud has nothing of it any more.
func (d *Driver) Delete(ctx context.Context, of provision.Target) (bool, error) {
	have, err := d.find(ctx, of)
	if errors.Is(err, provision.ErrNotFound) {
		return true, nil
	}
	if err != nil || have.State == "deleting" {
		return false, err
	}
	return false, d.call(ctx, of, http.MethodDelete, "clusters/"+have.ID, nil, nil)
}

// find looks for the cluster of a UID, which may have been adopted under an id that is not ours.
func (d *Driver) find(ctx context.Context, of provision.Target) (record, error) {
	var found []record
	if err := d.call(ctx, of, http.MethodGet, "clusters?owner="+url.QueryEscape(string(of.UID)), nil, &found); err != nil {
		return record{}, err
	}
	if len(found) == 0 {
		return record{}, provision.ErrNotFound
	}
	return found[0], nil
}

// call makes one call of the cloud's API. Its errors say nothing that differs from try to try, because they become
// the message of a condition, and nothing of what the cloud answers, which may repeat a secret.
func (d *Driver) call(ctx context.Context, of provision.Target, method, path string, in, out any) error {
	var s settings
	if err := json.Unmarshal(of.ProvisionerParameters, &s); err != nil {
		return invalid.New("spec.parameters", "%v", err)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write a call of the cloud: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/"+s.Region+"/"+path, bytes.NewReader(body))
	if err != nil {
		return invalid.New("spec.parameters.url", "is no URL")
	}
	req.Header.Set("Authorization", "Bearer "+string(of.Credentials["token"]))
	res, err := d.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("%w: the cloud does not answer", provision.ErrUnreachable)
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return errors.New("the cloud does not take the token")
	case res.StatusCode == http.StatusNotFound:
		return provision.ErrNotFound
	case res.StatusCode == http.StatusConflict:
		return invalid.New("metadata.name", "the cloud has given it to another cluster")
	case res.StatusCode == http.StatusUnprocessableEntity:
		return invalid.New("spec", "the cloud does not take it")
	case res.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%w: the account may have no more clusters", provision.ErrCapacity)
	case res.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%w: the cloud answers with status %d", provision.ErrUnreachable, res.StatusCode)
	case out == nil:
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, longestAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%w: the cloud's answer is cut off", provision.ErrUnreachable)
	}
	return nil
}

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// identityKey is where a Secret has the identity.
const identityKey = "identity"

// Secret keeps the identity in a Secret of the cluster, which has to be there.
type Secret struct {
	API             *rest.Config
	Namespace, Name string
}

// secretData is what is read and written of a Secret.
type secretData struct {
	Data map[string][]byte `json:"data"`
}

func (s *Secret) path() string {
	return fmt.Sprintf("/api/v1/namespaces/%s/secrets/%s", s.Namespace, s.Name)
}

// Load implements [Store].
func (s *Secret) Load(ctx context.Context) (Identity, error) {
	var have secretData
	var i Identity
	if err := call(ctx, s.API, http.MethodGet, s.path(), nil, &have); err != nil {
		return i, err
	}
	if err := json.Unmarshal(have.Data[identityKey], &i); err != nil {
		return Identity{}, nil //nolint:nilerr // it is damaged, or there is none yet: the one-time token gives another one
	}
	return i, nil
}

// Save implements [Store].
func (s *Secret) Save(ctx context.Context, i Identity) error {
	encoded, err := json.Marshal(i)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(secretData{map[string][]byte{identityKey: encoded}})
	if err != nil {
		return err
	}
	var after secretData
	return call(ctx, s.API, http.MethodPatch, s.path(), bytes.NewReader(patch), &after)
}

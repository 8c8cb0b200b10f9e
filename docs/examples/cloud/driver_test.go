package cloud_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/util/uuid"

	"kqueen.io/kqueen/docs/examples/cloud"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/provisiontest"
)

func TestContract(t *testing.T) {
	provisiontest.Run(t, func(t *testing.T) provisiontest.Subject {
		v := newVendor(t)
		return provisiontest.Subject{
			Driver: &cloud.Driver{HTTP: http.DefaultClient},
			Again:  func(*testing.T) provision.Driver { return &cloud.Driver{HTTP: http.DefaultClient} },
			Want: func(*testing.T) provision.Desired {
				return provision.Desired{
					Target: provision.Target{
						Ref:                   provision.Ref{UID: uuid.NewUUID(), Namespace: "org-blue", Name: "demo"},
						ProvisionerParameters: json.RawMessage(`{"url":"` + v.url + `","region":"north"}`),
						Credentials:           provision.Credentials{"token": []byte(token)},
					},
					Version: "v1.36.1",
				}
			},
			Refused: map[string]provisiontest.Refusal{
				"UnknownVersion": {Change: func(d *provision.Desired) { d.Version = "v1.99.0" }, Field: "spec.version"},
				"Downgrade": {
					Have:   func(d *provision.Desired) { d.Version = "v1.36.2" },
					Change: func(d *provision.Desired) { d.Version = "v1.36.1" }, Field: "spec.version",
				},
			},
			Progress: v.progress,
			Outside:  v.outside,
			Break:    v.fail,
			Hang:     v.hang,
			Secrets:  func(*testing.T, provision.Ref) [][]byte { return [][]byte{[]byte(token)} },
			NodePool: func(*testing.T) provision.NodePool { return provision.NodePool{Replicas: 2, Version: "v1.36.1"} },
			Foreign:  v.foreign,
		}
	})
}

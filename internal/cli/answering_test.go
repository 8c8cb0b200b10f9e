//go:build linux

package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/server/fleet"
)

// lists are what clusters of scripts answer when they are asked themselves. Some of it was written by a tenant who means no good.
var lists = map[string]string{
	"/api/v1/pods": `{"items":[
		{"metadata":{"namespace":"web","name":"web-1-a","uid":"p1","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"r1"}]},
			"spec":{"nodeName":"n1","volumes":[{"configMap":{"name":"conf"}}],"containers":[{"resources":{"requests":{"cpu":"500m","memory":"256Mi"},"limits":{"cpu":"1"}}}]},"status":{"phase":"Running"}},
		{"metadata":{"namespace":"web","name":"=1+1\u001b[2J\n\"]; x","uid":"p2"},"spec":{"containers":[{"resources":{"requests":{"cpu":"8"}}}]},"status":{"phase":"Pending"}}]}`,
	"/apis/apps/v1/replicasets":                  `{"items":[{"metadata":{"namespace":"web","name":"web-1","uid":"r1","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d1"}]}}]}`,
	"/apis/apps/v1/deployments":                  `{"items":[{"metadata":{"namespace":"web","name":"web","uid":"d2"}}]}`,
	"/api/v1/services":                           `{"items":[{"metadata":{"namespace":"web","name":"web","uid":"s1"},"spec":{"selector":{"app":"web"}}}]}`,
	"/apis/networking.k8s.io/v1/ingresses":       `{"items":[{"metadata":{"namespace":"web","name":"web","uid":"i1"},"spec":{"defaultBackend":{"service":{"name":"shop"}}}}]}`,
	"/api/v1/nodes":                              `{"items":[{"metadata":{"name":"n1"},"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"7Gi","pods":"110"}}},{"metadata":{"name":"n2"},"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"7Gi","pods":"110"}}}]}`,
	"/apis/metrics.k8s.io/v1beta1/nodes":         `{"items":[{"metadata":{"name":"n1"},"timestamp":"2026-03-01T09:00:00Z","window":"20s","usage":{"cpu":"1200m","memory":"2Gi"}},{"metadata":{"name":"n2"},"timestamp":"2026-03-01T09:00:00Z","window":"20s","usage":{"cpu":"40m","memory":"512Mi"}}]}`,
	"/apis/policy/v1/poddisruptionbudgets":       "",
	"/apis/networking.k8s.io/v1/networkpolicies": `{"items":[]}`,
}

// answering has every cluster answer so, but "shut", which has no credentials, and "silent", which fails.
func answering(t *testing.T) fleet.Reach {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := lists[r.URL.Path]
		switch {
		case !known:
			w.WriteHeader(http.StatusNotFound)
		case answer == "":
			w.WriteHeader(http.StatusForbidden)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	return func(_ context.Context, c *v1alpha1.Cluster, within listing.Bounds) (*listing.Client, error) {
		if c.Name == "shut" {
			return nil, fleet.ErrNotReady
		}
		host := server.URL
		if c.Name == "silent" {
			host = "http://127.0.0.1:1"
		}
		return listing.New(&rest.Config{Host: host}, within)
	}
}

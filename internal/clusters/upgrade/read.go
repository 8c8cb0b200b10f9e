package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// What a look at a cluster costs at most.
const (
	readWithin   = 20 * time.Second
	maxName      = 253
	maxServices  = 64
	maxVersions  = 64
	listedAtMost = 10_000
)

// Bounds are those of the client that Read takes.
func Bounds() listing.Bounds {
	return listing.Bounds{Call: 10 * time.Second, PageItems: 200, PageBytes: 8 << 20, Objects: listedAtMost, Connections: 2}
}

// Read looks at a cluster. What may not be read is named in NotRead; an error says that the cluster does not answer.
func Read(ctx context.Context, c *listing.Client) (Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	r := &reading{client: c, seen: Seen{Answering: map[Service]bool{}}}
	for _, l := range []struct {
		name, path string
		each       func([]byte) error
	}{
		{"nodes", "/api/v1/nodes", r.node},
		{"customresourcedefinitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", r.definition},
		{"poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", r.budget},
		{"validatingwebhookconfigurations", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", r.webhooks("ValidatingWebhookConfiguration")},
		{"mutatingwebhookconfigurations", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", r.webhooks("MutatingWebhookConfiguration")},
	} {
		if err := r.list(ctx, l.name, listing.Resource{Path: l.path, Accept: listing.JSON}, l.each); err != nil {
			return Seen{}, err
		}
	}
	return r.seen, r.services(ctx)
}

// reading is one reading of a cluster.
type reading struct {
	client *listing.Client
	seen   Seen
}

// list reads a resource. What may not be read, and what there is too much of, is named.
func (r *reading) list(ctx context.Context, name string, of listing.Resource, each func([]byte) error) error {
	_, err := r.client.List(ctx, of, listing.AnyTurn, each)
	switch {
	case errors.Is(err, listing.ErrForbidden), errors.Is(err, listing.ErrTooMany), errors.Is(err, listing.ErrTooLarge), errors.Is(err, listing.ErrAbsent):
		r.seen.NotRead = append(r.seen.NotRead, listing.NotRead{Resource: name, Reason: listing.Reason(err)})
	case err != nil:
		return fmt.Errorf("list %s: %w", name, err)
	}
	return nil
}

// object reads what is needed of an object.
func object[T any](raw []byte) (T, error) {
	var in T
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("read object: %w", err)
	}
	return in, nil
}

func clean(s string) string { return listing.Clean(s, maxName) }

type meta struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
}

func (r *reading) node(raw []byte) error {
	in, err := object[struct {
		Meta   meta `json:"metadata"`
		Status struct {
			Info struct {
				Kubelet string `json:"kubeletVersion"`
			} `json:"nodeInfo"`
			Conditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	}](raw)
	if err != nil {
		return err
	}
	n := Node{Name: clean(in.Meta.Name), Pool: clean(in.Meta.Labels[v1alpha1.LabelNodePool]), Kubelet: clean(in.Status.Info.Kubelet)}
	for _, c := range in.Status.Conditions {
		n.Ready = n.Ready || c.Type == "Ready" && c.Status == "True"
	}
	r.seen.Nodes = append(r.seen.Nodes, n)
	return nil
}

type serviceReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// service returns the Service that a webhook names, or nil where it has a URL.
func (s *serviceReference) service() *Service {
	if s == nil {
		return nil
	}
	return &Service{clean(s.Namespace), clean(s.Name)}
}

type clientConfig struct {
	Service *serviceReference `json:"service"`
}

func (r *reading) definition(raw []byte) error {
	in, err := object[struct {
		Meta meta `json:"metadata"`
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
			Conversion struct {
				Strategy string `json:"strategy"`
				Webhook  struct {
					Client clientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
		Status struct {
			Stored []string `json:"storedVersions"`
		} `json:"status"`
	}](raw)
	if err != nil {
		return err
	}
	d := Definition{Name: clean(in.Meta.Name), Served: map[string]bool{}}
	for _, v := range in.Spec.Versions[:min(len(in.Spec.Versions), maxVersions)] {
		d.Served[clean(v.Name)] = v.Served
	}
	for _, v := range in.Status.Stored[:min(len(in.Status.Stored), maxVersions)] {
		d.Stored = append(d.Stored, clean(v))
	}
	if in.Spec.Conversion.Strategy == "Webhook" {
		d.Converter = in.Spec.Conversion.Webhook.Client.Service.service()
	}
	// Most definitions can have nothing to do with an upgrade, and are not kept.
	if d.Converter != nil || len(unserved(d)) > 0 {
		r.seen.Definitions = append(r.seen.Definitions, d)
	}
	return nil
}

// services asks which Services of webhooks have an endpoint that is ready.
func (r *reading) services(ctx context.Context) error {
	wanted := map[Service]bool{}
	for _, w := range r.seen.Webhooks {
		wanted[w.Service] = true
	}
	for _, d := range r.seen.Definitions {
		if d.Converter != nil {
			wanted[*d.Converter] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(wanted), func(a, b Service) int { return strings.Compare(a.String(), b.String()) })
	for i, s := range all {
		if i == maxServices {
			r.seen.NotRead = append(r.seen.NotRead, listing.NotRead{Resource: "endpointslices", Reason: "webhooks name more Services than KQueen looks at"})
			for _, left := range all[i:] {
				r.seen.Answering[left] = true // nothing is said of what was not looked at
			}
			return nil
		}
		if len(content.IsDNS1123Label(s.Namespace)) > 0 || len(content.IsDNS1123Label(s.Name)) > 0 {
			continue // there is no such Service
		}
		if err := r.endpoints(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// endpoints asks whether a Service has an endpoint that is ready.
func (r *reading) endpoints(ctx context.Context, s Service) error {
	of := listing.Resource{
		Path: "/apis/discovery.k8s.io/v1/namespaces/" + s.Namespace + "/endpointslices", Accept: listing.JSON,
		Query: url.Values{"labelSelector": {"kubernetes.io/service-name=" + s.Name}},
	}
	unread := len(r.seen.NotRead)
	err := r.list(ctx, "endpointslices", of, func(raw []byte) error {
		in, err := object[struct {
			Endpoints []struct {
				Conditions struct {
					Ready *bool `json:"ready"`
				} `json:"conditions"`
			} `json:"endpoints"`
		}](raw)
		for _, e := range in.Endpoints {
			// "nil should be interpreted as true", says the API.
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				r.seen.Answering[s] = true
			}
		}
		return err
	})
	if len(r.seen.NotRead) > unread {
		r.seen.Answering[s] = true // nothing is said of what could not be looked at
		r.seen.NotRead = slices.CompactFunc(r.seen.NotRead, func(a, b listing.NotRead) bool { return a == b })
	}
	return err
}

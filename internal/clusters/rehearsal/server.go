package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// Server is an API server in which stored objects are looked at. [NewServer] makes one; tests have others.
type Server interface {
	// Discover says what is served.
	Discover(ctx context.Context) (Served, error)
	// List hands over all objects of a resource, as JSON that is valid until each returns.
	List(ctx context.Context, of Resource, each func([]byte) error) error
	// Get reads one object; the error of one that is not there is [listing.ErrAbsent].
	Get(ctx context.Context, of Resource, namespace, name string) error
	// Put writes an object.
	Put(ctx context.Context, of Resource, namespace, name string, object []byte) error
	Close()
}

// Resource is one that an API server serves, in one version.
type Resource struct {
	schema.GroupVersionKind

	// Plural is its name in paths.
	Plural     string
	Namespaced bool
	// Written says whether its objects can be written as a whole.
	Written bool
}

func (r Resource) path(namespace, name string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.Plural
	if name != "" {
		path += "/" + name
	}
	return path
}

// Served is what an API server serves.
type Served struct {
	// Resources has each kind in the version that the server prefers.
	Resources map[schema.GroupKind]Resource
	// Versions are all versions of all groups.
	Versions map[schema.GroupVersion]bool
}

const (
	// callWithin bounds one page, in which custom resources may be converted by a webhook: API servers give it 30 s.
	callWithin = 35 * time.Second
	pageItems  = 500
	pageBytes  = 32 << 20
)

// NewServer returns the API server of a config, whose connections Close ends. It makes no call.
func NewServer(config *rest.Config) (Server, error) {
	lists, err := listing.New(config, listing.Bounds{Call: callWithin, PageItems: pageItems, PageBytes: pageBytes, Objects: maxObjects, Connections: 2 * writers})
	if err != nil {
		return nil, err
	}
	own := rest.CopyConfig(config)
	own.Timeout, own.QPS, own.GroupVersion = callWithin, -1, &schema.GroupVersion{}
	own.WarningHandler = rest.NoWarnings{} // what is deprecated is found by other means
	own.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	calls, err := rest.UnversionedRESTClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("read the credential of the API server: %w", err)
	}
	return &server{lists, calls, discovery.NewDiscoveryClient(calls)}, nil
}

type server struct {
	lists     *listing.Client
	calls     *rest.RESTClient
	discovery *discovery.DiscoveryClient
}

// Close implements [Server].
func (s *server) Close() { s.lists.Close() }

// Discover implements [Server]. Groups that others serve behind the API server, and that do not answer, are left out: nothing of them is stored.
func (s *server) Discover(ctx context.Context) (Served, error) {
	groups, err := discovery.ServerPreferredResources(s.discovery)
	if discovery.IsGroupDiscoveryFailedError(err) {
		err = ctx.Err()
	}
	if err != nil {
		return Served{}, fmt.Errorf("ask what is served: %w", err)
	}
	all, err := s.discovery.ServerGroups()
	if err != nil {
		return Served{}, fmt.Errorf("ask what is served: %w", err)
	}
	return served(groups, all), nil
}

// served reads what an API server says of itself. It is pure.
func served(preferred []*metav1.APIResourceList, groups *metav1.APIGroupList) Served {
	out := Served{Resources: map[schema.GroupKind]Resource{}, Versions: map[schema.GroupVersion]bool{}}
	for _, group := range groups.Groups {
		for _, v := range group.Versions {
			out.Versions[schema.GroupVersion{Group: group.Name, Version: v.Version}] = true
		}
	}
	for _, list := range preferred {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			verbs := map[string]bool{}
			for _, v := range r.Verbs {
				verbs[v] = true
			}
			kind := version.WithKind(r.Kind)
			if _, there := out.Resources[kind.GroupKind()]; there || !verbs["list"] || !verbs["get"] {
				continue
			}
			out.Resources[kind.GroupKind()] = Resource{kind, r.Name, r.Namespaced, verbs["update"]}
		}
	}
	return out
}

// List implements [Server].
func (s *server) List(ctx context.Context, of Resource, each func([]byte) error) error {
	_, err := s.lists.List(ctx, listing.Resource{Path: of.path("", ""), Accept: listing.JSON}, listing.AnyTurn, each)
	return err
}

// Get implements [Server].
func (s *server) Get(ctx context.Context, of Resource, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	resp, err := s.lists.Open(ctx, of.path(namespace, name), nil, listing.JSON)
	if err != nil {
		return listing.InTime(ctx, err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, &listing.Capped{Reader: resp.Body, Left: pageBytes})
	return listing.InTime(ctx, err)
}

// Put implements [Server].
func (s *server) Put(ctx context.Context, of Resource, namespace, name string, object []byte) error {
	answer := s.calls.Put().AbsPath(of.path(namespace, name)).SetHeader("Content-Type", runtime.ContentTypeJSON).
		SetHeader("Accept", listing.Metadata("PartialObjectMetadata")).Body(object).Do(ctx)
	return answer.Error()
}

// whole is an object of a list with its kind, which lists leave out.
func whole(of Resource, raw []byte) (map[string]any, []byte, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // an integer of 64 bits stays what it is
	if err := d.Decode(&fields); err != nil {
		return nil, nil, fmt.Errorf("read object: %w", err)
	}
	if fields == nil {
		return nil, nil, errors.New("read object: it is null")
	}
	fields["apiVersion"], fields["kind"] = of.GroupVersion().String(), of.Kind
	body, err := json.Marshal(fields)
	return fields, body, err
}

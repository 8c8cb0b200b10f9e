package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/stored"
)

// api is an API server that serves what it is told to.
type api struct {
	served Served
	// objects are those of each resource, by "PLURAL.VERSION".
	objects map[string][]string
	// unlisted are the errors of lists, unread those of objects by "PLURAL.VERSION NAMESPACE/NAME", and refused those of writes.
	unlisted, unread, refused map[string]error
	through                   func(call string) error

	mu      sync.Mutex
	written []string
	closed  int
}

func (a *api) call(name string) error {
	if a.through == nil {
		return nil
	}
	return a.through(name)
}

func (a *api) Discover(context.Context) (Served, error) { return a.served, a.call("Discover") }

func key(r Resource) string { return r.Plural + "." + r.Version }

func (a *api) List(_ context.Context, of Resource, each func([]byte) error) error {
	if err := errors.Join(a.call("List"), a.unlisted[key(of)]); err != nil {
		return err
	}
	for _, o := range a.objects[key(of)] {
		if err := each([]byte(o)); err != nil {
			return err
		}
	}
	return nil
}

func (a *api) Get(_ context.Context, of Resource, namespace, called string) error {
	n := stored.Name{Namespace: namespace, Name: called}
	if err := errors.Join(a.call("Get"), a.unread[key(of)+" "+n.String()]); err != nil {
		return err
	}
	for _, o := range a.objects[key(of)] {
		var fields map[string]any
		if json.Unmarshal([]byte(o), &fields) == nil && nameIn(fields) == n {
			return nil
		}
	}
	return listing.ErrAbsent
}

func (a *api) Put(_ context.Context, of Resource, namespace, called string, body []byte) error {
	if err := a.call("Put"); err != nil {
		return err
	}
	n := stored.Name{Namespace: namespace, Name: called}
	if err := a.refused[of.Kind+" "+n.String()]; err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = append(a.written, string(body))
	return nil
}

func (a *api) Close() { a.closed++ }

// serves adds a resource.
func (s Served) serves(group, version, kind, plural string, namespaced bool) Served {
	if s.Resources == nil {
		s = Served{map[schema.GroupKind]Resource{}, map[schema.GroupVersion]bool{}}
	}
	k := schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	s.Resources[k.GroupKind()] = Resource{k, plural, namespaced, true}
	s.Versions[k.GroupVersion()] = true
	return s
}

func good() Served {
	return Served{}.serves("", "v1", "ConfigMap", "configmaps", true).serves("", "v1", "Node", "nodes", false).
		serves("example.com", "v1", "Widget", "widgets", true).serves("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true)
}

func config(namespace, called, more string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q%s},"data":{"n":"1"}}`, namespace, called, more)
}

// stands is an object that is stored.
func stands(version, namespace, called string) object {
	return object{version, stored.Name{Namespace: namespace, Name: called}}
}

func findingsOf(all []v1alpha1.UpgradeFinding) []string {
	lines := []string{}
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s %s: %s: %s", f.Severity, f.Check, f.Object, f.Message))
	}
	slices.Sort(lines)
	return lines
}

// trialCase is a look at what is stored, and what comes of it.
type trialCase struct {
	have, later inventory
	definitions []definition
	server      *api
	before      Served
	want        []string
	counts      report
	err         string
}

// trialCases are those of kinds and objects.
func trialCases() map[string]trialCase {
	of := schema.GroupKind{Kind: "ConfigMap"}
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Message: "spec.n: Required value"}}
	conflict := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Code: 409, Message: "changed"}}
	return map[string]trialCase{
		"All": {
			have:   inventory{of: {stands("v1", "shop", "a"), stands("v1", "shop", "b")}, {Kind: "Node"}: {stands("v1", "", "n1")}, {Kind: "RangeAllocation"}: {stands("v1", "", "serviceips")}},
			server: &api{objects: map[string][]string{"configmaps.v1": {config("shop", "a", ""), config("shop", "b", "")}, "nodes.v1": {`{"metadata":{"name":"n1"}}`}}},
			counts: report{kinds: 2, objects: 3, written: 3},
		},
		"KindIsGone": {
			have:   inventory{{Group: "policy", Kind: "PodSecurityPolicy"}: {stands("v1beta1", "", "strict"), stands("v1beta1", "", "open")}},
			before: good().serves("policy", "v1beta1", "PodSecurityPolicy", "podsecuritypolicies", false),
			want:   []string{"Blocks ServedAPIs: PodSecurityPolicy strict: it and 1 more is stored as policy/v1beta1, which v1.36.3 does not serve: it can neither be read nor deleted there"},
			counts: report{kinds: 1},
		},
		"KindWasGoneBefore": {
			have:   inventory{{Group: "policy", Kind: "PodSecurityPolicy"}: {stands("v1beta1", "", "strict")}},
			want:   []string{"Warns ServedAPIs: PodSecurityPolicy strict: it is stored as policy/v1beta1, which neither the cluster as it is nor v1.36.3 serves"},
			counts: report{kinds: 1},
		},
		"Refused": {
			have: inventory{of: {stands("v1", "shop", "a"), stands("v1", "shop", "b")}},
			server: &api{
				objects: map[string][]string{"configmaps.v1": {config("shop", "a", ""), config("shop", "b", "")}},
				refused: map[string]error{"ConfigMap shop/a": denied, "ConfigMap shop/b": conflict},
			},
			want:   []string{"Warns ObjectUpdates: ConfigMap shop/a: v1.36.3 does not take it as it is: spec.n: Required value"},
			counts: report{kinds: 1, objects: 2},
		},
		"OneIsDamaged": {
			have: inventory{of: {stands("v1", "shop", "a"), stands("v1", "shop", "b")}},
			server: &api{
				objects:  map[string][]string{"configmaps.v1": {config("shop", "a", "")}},
				unlisted: map[string]error{"configmaps.v1": errors.New("answered 500: illegal tag")},
				unread:   map[string]error{"configmaps.v1 shop/b": errors.New("answered 500: illegal tag")},
			},
			want:   []string{"Blocks StoredObjects: ConfigMap shop/b: v1.36.3 cannot read it as it is stored: answered 500: illegal tag"},
			counts: report{kinds: 1, objects: 1},
		},
		"NotListed": {
			have: inventory{of: {stands("v1", "shop", "a")}}, later: inventory{of: {stands("v1", "shop", "a")}},
			want:   []string{"Blocks StoredObjects: ConfigMap shop/a: v1.36.3 cannot read it as it is stored: not in this cluster (404)"},
			counts: report{kinds: 1},
		},
		"GoneMeanwhile":    {have: inventory{of: {stands("v1", "shop", "a")}}, later: inventory{}, counts: report{kinds: 1}},
		"KindIsUnreadable": {have: inventory{unread: {stands("", "shop", "x")}}, want: []string{"Blocks StoredObjects: shop/x: what is stored of it is damaged: not even its kind can be read"}, counts: report{kinds: 1}},
		"StoredVersionIsGone": {
			have:        inventory{widget: {stands("v1alpha1", "shop", "old"), stands("v1", "shop", "new")}},
			definitions: []definition{{name: "widgets.example.com", kind: widget, plural: "widgets", namespaced: true, versions: map[string]bool{"v1": true}}},
			server: &api{
				objects:  map[string][]string{"widgets.v1": {config("shop", "new", "")}},
				unlisted: map[string]error{"widgets.v1": errors.New("answered 500: invalid group/version")},
			},
			want: []string{
				"Blocks StoredVersions: Widget shop/old: it is stored as example.com/v1alpha1, a version that CustomResourceDefinition widgets.example.com does not have: no object of the kind can be listed",
			},
			counts: report{kinds: 1, objects: 1},
		},
		"ConvertedByWebhook": {
			have:        inventory{widget: {stands("v1", "shop", "a")}},
			definitions: []definition{{kind: widget, versions: map[string]bool{"v1": true}, webhook: true}},
			server:      &api{unlisted: map[string]error{"widgets.v1": errors.New("not asked")}},
			counts:      report{kinds: 1, objects: 1},
		},
	}
}

// callerCases are those of who writes and who answers.
func callerCases() map[string]trialCase {
	of := schema.GroupKind{Kind: "ConfigMap"}
	return map[string]trialCase{
		"WrittenByAPIThatGoes": {
			have: inventory{of: {stands("v1", "shop", "a"), stands("v1", "shop", "b")}},
			server: &api{objects: map[string][]string{"configmaps.v1": {
				config("shop", "a", `,"managedFields":[{"manager":"helm","apiVersion":"old/v1beta1"},{"manager":"x","apiVersion":"gone/v1"},{"manager":"y","apiVersion":"v1"}]`),
				config("shop", "b", `,"managedFields":[{"manager":"helm","apiVersion":"old/v1beta1"},{},7]`),
			}}},
			before: good().serves("old", "v1beta1", "Thing", "things", true),
			want:   []string{`Warns ServedAPIs: ConfigMap shop/a: client "helm" wrote it and 1 more by old/v1beta1, which v1.36.3 does not serve`},
			counts: report{kinds: 1, objects: 2, written: 2},
		},
		"NoAnswer": {
			have:   inventory{of: {stands("v1", "shop", "a")}},
			server: &api{unlisted: map[string]error{"configmaps.v1": errors.New("cut")}, unread: map[string]error{"configmaps.v1 shop/a": &url.Error{Err: errors.New("connection refused")}}},
			err:    `look at configmaps in v1.36.3: connection refused`,
		},
		"NoAnswerToWrite": {
			have:   inventory{of: {stands("v1", "shop", "a")}},
			server: &api{objects: map[string][]string{"configmaps.v1": {config("shop", "a", "")}}, refused: map[string]error{"ConfigMap shop/a": errors.New("connection refused")}},
			err:    "look at configmaps in v1.36.3: connection refused",
		},
	}
}

func TestTrial(t *testing.T) {
	all := trialCases()
	maps.Copy(all, callerCases())
	for called, c := range all {
		t.Run(called, func(t *testing.T) {
			server := c.server
			if server == nil {
				server = &api{}
			}
			server.served = good()
			before := c.before
			if before.Resources == nil {
				before = good()
			}
			later := c.later
			if later == nil {
				later = c.have
			}
			tr := &trial{server: server, version: "v1.36.3", served: server.served, before: before, stale: map[writer]*example{}}
			tr.again = func() (inventory, error) { return later, nil }
			err := tr.run(t.Context(), c.have, c.definitions)
			said := ""
			if err != nil {
				said = strings.ReplaceAll(err.Error(), ` "": `, "")
			}
			if c.err != "" {
				if !strings.HasSuffix(said, c.err[strings.LastIndex(c.err, ":"):]) || !strings.HasPrefix(said, "look at configmaps") {
					t.Errorf("got %q, want %q", said, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{}, c.want...), findingsOf(tr.report.findings)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := (report{kinds: tr.report.kinds, objects: tr.report.objects, written: tr.report.written}); got.kinds != c.counts.kinds || got.objects != c.counts.objects || got.written != c.counts.written {
				t.Errorf("got %+v, want %+v", got, c.counts)
			}
		})
	}
}

// TestWhole: what is written is what was read, with its kind, and to the last digit.
func TestWhole(t *testing.T) {
	r := Resource{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}
	_, body, err := whole(r, []byte(`{"metadata":{"name":"a"},"spec":{"big":9007199254740993,"float":1.50}}`))
	if want := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"big":9007199254740993,"float":1.50}}`; err != nil || string(body) != want {
		t.Errorf("got %s, %v", body, err)
	}
	for _, bad := range []string{"", "null", "[]", `{"a":`} {
		if _, _, err := whole(r, []byte(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// TestConverted: objects that a webhook does not convert are named, and a cluster that does not answer is none of that.
func TestConverted(t *testing.T) {
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	all := []definition{
		{name: "widgets.example.com", kind: widget, plural: "widgets", namespaced: true, webhook: true, versions: map[string]bool{"v1": true, "v2": true, "v3": false}},
		{name: "others.example.com", kind: schema.GroupKind{Group: "example.com", Kind: "Other"}, plural: "others", webhook: true, versions: map[string]bool{"v1": true}},
	}
	have := inventory{widget: {stands("v1", "shop", "a"), stands("v1", "shop", "b")}}
	live := &api{
		objects:  map[string][]string{"widgets.v2": {config("shop", "a", "")}},
		unlisted: map[string]error{"widgets.v2": errors.New("answered 500: conversion webhook failed")},
		unread:   map[string]error{"widgets.v2 shop/b": errors.New("answered 500: conversion webhook failed")},
	}
	got, err := converted(t.Context(), live, all, have)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Blocks ConversionWebhooks: Widget shop/b: the webhook of CustomResourceDefinition widgets.example.com does not convert it to v2: answered 500: conversion webhook failed"}
	if diff := cmp.Diff(want, findingsOf(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	live.unlisted["widgets.v1"] = &url.Error{Err: errors.New("connection refused")}
	if got, err := converted(t.Context(), live, all, have); err == nil || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReadDefinition(t *testing.T) {
	got, err := readDefinition([]byte(`{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"kind":"Widget","plural":"widgets"},"versions":[{"name":"v1","served":true},{"name":"v1beta1"}],"conversion":{"strategy":"Webhook"}}}`))
	want := definition{
		name: "widgets.example.com", kind: schema.GroupKind{Group: "example.com", Kind: "Widget"}, plural: "widgets", namespaced: true, webhook: true,
		versions: map[string]bool{"v1": true, "v1beta1": false},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(definition{})); err != nil || diff != "" {
		t.Errorf("%v -want +got:\n%s", err, diff)
	}
	served := good()
	have := inventory{want.kind: {stands("v1", "shop", "a")}}
	if got := absent([]definition{want}, served, have); got != nil {
		t.Errorf("got %v", got)
	}
	want.versions["v2"] = true
	if got := absent([]definition{want}, served, have); !slices.Equal(got, []string{"widgets.example.com"}) {
		t.Errorf("got %v", got)
	}
}

func TestServed(t *testing.T) {
	got := served([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"get", "list", "update"}},
			{Name: "pods/log", Kind: "Pod", Verbs: []string{"get"}}, {Name: "bindings", Kind: "Binding", Verbs: []string{"create"}},
			{Name: "componentstatuses", Kind: "ComponentStatus", Verbs: []string{"get", "list"}},
		}},
		{GroupVersion: "a/b/c"},
	}, &metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "policy", Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}, {Version: "v1beta1"}}}}})
	want := Served{
		Resources: map[schema.GroupKind]Resource{
			{Kind: "ConfigMap"}:       {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", true, true},
			{Kind: "ComponentStatus"}: {schema.GroupVersionKind{Version: "v1", Kind: "ComponentStatus"}, "componentstatuses", false, false},
		},
		Versions: map[schema.GroupVersion]bool{{Group: "policy", Version: "v1"}: true, {Group: "policy", Version: "v1beta1"}: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

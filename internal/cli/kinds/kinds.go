package kinds

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// Kind is a kind of object that commands list and show. All list and get commands are made from this.
type Kind struct {
	Kind string
	// Singular and Plural are its names on the command line.
	Singular, Plural string
	Object           func() client.Object
	// columns are the same as the printer columns of the kind's definition, without the name in front.
	columns []Column
	// unnamed leaves the name out of tables, for objects whose names say nothing.
	unnamed bool
	// None is how to get the first one, for users who have none.
	None string
}

// Scope says where its objects are. Events are no kind of the API's, and in organizations.
func (k *Kind) Scope() rest.KindScope {
	if served, ok := rest.KindNamed(k.Kind); ok {
		return served.Scope
	}
	return rest.ScopeOrganization
}

// Column is one column of a table.
type Column struct {
	Name string
	// Wide columns are shown with -o wide only.
	Wide  bool
	Value func(client.Object) string
}

var (
	readyColumn = Column{Name: "Ready", Value: ReadyStatus}
	// reasonColumn says in a word why an object is ready or is not.
	reasonColumn = Column{Name: "Reason", Value: readyReason}
	// MessageColumn says why an object is ready or is not. Lists show it with -o wide only, describe always.
	MessageColumn = Column{Name: "Message", Wide: true, Value: ReadyMessage}
	ageColumn     = Column{Name: "Age", Value: func(o client.Object) string { return Age(o.GetCreationTimestamp().Time) }}
)

// Cluster is one Kubernetes cluster, however it is made.
var Cluster = &Kind{
	Kind: "Cluster", Singular: "cluster", Plural: "clusters",
	Object: func() client.Object { return &v1alpha1.Cluster{} },
	columns: []Column{
		readyColumn,
		reasonColumn,
		{Name: "Version", Value: of(func(c *v1alpha1.Cluster) string { return c.Status.Version })},
		{Name: "Provisioner", Value: of(provisionerOf)},
		{Name: "Endpoint", Wide: true, Value: of(func(c *v1alpha1.Cluster) string { return c.Status.Endpoint })},
		MessageColumn,
		ageColumn,
	},
	None: "cluster create NAME",
}

// Release is a version of Kubernetes that KQueen can run.
var Release = &Kind{
	Kind: "Release", Singular: "release", Plural: "releases",
	Object: func() client.Object { return &v1alpha1.Release{} },
	columns: []Column{
		readyColumn,
		reasonColumn,
		{Name: "Upgrade From", Value: of(func(r *v1alpha1.Release) string { return r.Status.UpgradeFrom })},
		MessageColumn,
		ageColumn,
	},
}

// Provisioner is a configured way to get clusters.
var Provisioner = &Kind{
	Kind: "Provisioner", Singular: "provisioner", Plural: "provisioners",
	Object: func() client.Object { return &v1alpha1.Provisioner{} },
	columns: []Column{
		{Name: "Driver", Value: of(func(p *v1alpha1.Provisioner) string { return p.Spec.Driver })},
		readyColumn,
		reasonColumn,
		MessageColumn,
		ageColumn,
	},
}

// Organization is a tenant of KQueen, and owns clusters.
var Organization = &Kind{
	Kind: "Organization", Singular: "organization", Plural: "organizations",
	Object: func() client.Object { return &v1alpha1.Organization{} },
	columns: []Column{
		readyColumn,
		reasonColumn,
		{Name: "Namespace", Value: of(func(o *v1alpha1.Organization) string { return o.Status.Namespace })},
		{Name: "Display Name", Wide: true, Value: of(func(o *v1alpha1.Organization) string { return o.Spec.DisplayName })},
		MessageColumn,
		ageColumn,
	},
	None: "organization create NAME",
}

// ControlPlane is one that KQueen hosts. Users make it with its cluster.
var ControlPlane = &Kind{
	Kind: "ControlPlane", Singular: "controlplane", Plural: "controlplanes",
	Object: func() client.Object { return &v1alpha1.ControlPlane{} },
	columns: []Column{
		readyColumn,
		reasonColumn,
		{Name: "Version", Value: of(func(p *v1alpha1.ControlPlane) string { return p.Status.Version })},
		{Name: "Port", Value: of(func(p *v1alpha1.ControlPlane) string {
			if p.Status.Endpoint == nil {
				return ""
			}
			return strconv.Itoa(int(p.Status.Endpoint.Port))
		})},
		{Name: "Store", Wide: true, Value: of(func(p *v1alpha1.ControlPlane) string { return p.Spec.DataStoreName })},
		{Name: "Host", Wide: true, Value: of(func(p *v1alpha1.ControlPlane) string {
			if p.Status.Endpoint == nil {
				return ""
			}
			return p.Status.Endpoint.ServerName
		})},
		MessageColumn,
		ageColumn,
	},
	None: "cluster create NAME",
}

// IdentityProvider is an OpenID Connect provider by which users sign in.
var IdentityProvider = &Kind{
	Kind: "IdentityProvider", Singular: "identityprovider", Plural: "identityproviders",
	Object: func() client.Object { return &v1alpha1.IdentityProvider{} },
	columns: []Column{
		{Name: "Issuer", Value: of(func(p *v1alpha1.IdentityProvider) string { return p.Spec.Issuer })},
		readyColumn,
		reasonColumn,
		MessageColumn,
		ageColumn,
	},
	None: "identityprovider create NAME --issuer URL --client-id ID",
}

// Event is Kubernetes' own kind.
var Event = &Kind{
	Kind: "Event", Singular: "event", Plural: "events", unnamed: true,
	Object: func() client.Object { return &eventsv1.Event{} },
	columns: []Column{
		{Name: "Last Seen", Value: of(func(e *eventsv1.Event) string { return Age(seenAt(e)) })},
		{Name: "Type", Value: of(func(e *eventsv1.Event) string { return e.Type })},
		{Name: "Reason", Value: of(func(e *eventsv1.Event) string { return e.Reason })},
		{Name: "Object", Value: of(func(e *eventsv1.Event) string { return e.Regarding.Kind + "/" + e.Regarding.Name })},
		{Name: "Note", Value: of(func(e *eventsv1.Event) string { return e.Note })},
	},
}

// NodePool is a set of like nodes of one cluster.
var NodePool = &Kind{
	Kind: "NodePool", Singular: "nodepool", Plural: "nodepools",
	Object: func() client.Object { return &v1alpha1.NodePool{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(p *v1alpha1.NodePool) string { return p.Spec.ClusterName })},
		{Name: "Desired", Value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Spec.Replicas)) })},
		{Name: "Min", Wide: true, Value: of(func(p *v1alpha1.NodePool) string { return Optional(p.Spec.MinReplicas) })},
		{Name: "Max", Wide: true, Value: of(func(p *v1alpha1.NodePool) string { return Optional(p.Spec.MaxReplicas) })},
		{Name: "Ready", Value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Status.ReadyReplicas)) })},
		reasonColumn,
		{Name: "Updated", Value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Status.UpdatedReplicas)) })},
		{Name: "Version", Wide: true, Value: of(func(p *v1alpha1.NodePool) string { return p.Spec.Version })},
		{Name: "Provider", Value: of(func(p *v1alpha1.NodePool) string { return p.Spec.Template.Provider })},
		MessageColumn,
		ageColumn,
	},
	None: "nodepool create NAME --cluster CLUSTER",
}

// Optional writes a number that may be left open.
func Optional(number *int32) string {
	if number == nil {
		return ""
	}
	return strconv.Itoa(int(*number))
}

// Machine is called node on the command line: a Machine is KQueen's side of a node and has its name.
var Machine = &Kind{
	Kind: "Machine", Singular: "node", Plural: "nodes",
	Object: func() client.Object { return &v1alpha1.Machine{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(m *v1alpha1.Machine) string { return m.Spec.ClusterName })},
		{Name: "Pool", Value: of(func(m *v1alpha1.Machine) string { return m.Labels[v1alpha1.LabelNodePool] })},
		{Name: readyColumn.Name, Value: of(nodeStatus)},
		reasonColumn,
		{Name: "Version", Value: of(func(m *v1alpha1.Machine) string { return m.Status.Version })},
		{Name: "Address", Value: of(func(m *v1alpha1.Machine) string { return m.Status.Address })},
		{Name: "Provider", Wide: true, Value: of(func(m *v1alpha1.Machine) string { return m.Spec.Provider })},
		{Name: "Isolation", Wide: true, Value: of(func(m *v1alpha1.Machine) string { return string(m.Status.Isolation) })},
		MessageColumn,
		ageColumn,
	},
	None: "nodepool create NAME --cluster CLUSTER",
}

// nodeStatus is whether a node is ready and, as kubectl says it, that it is cordoned.
func nodeStatus(m *v1alpha1.Machine) string {
	status := ReadyStatus(m)
	if m.Status.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return strings.TrimPrefix(status, ",")
}

// All are the kinds that the API serves, in the order in which one may need another.
func All() []*Kind {
	return []*Kind{Organization, IdentityProvider, Release, Provisioner, BackupStore, Cluster, ControlPlane, NodePool, Machine, Backup, BackupSchedule, Restore, Rehearsal, Rotation, Upgrade}
}

// Named returns the kind that the API calls so, such as "NodePool", or nil.
func Named(kind string) *Kind {
	for _, n := range All() {
		if n.Kind == kind {
			return n
		}
	}
	return nil
}

// KindOf returns the kind of an object.
func KindOf(o client.Object) *Kind {
	if n := Named(reflect.TypeOf(o).Elem().Name()); n != nil { // types have the names of their kinds
		return n
	}
	return Cluster
}

// provisionerOf is by what a cluster is made, and whether that is a cluster at all.
func provisionerOf(c *v1alpha1.Cluster) string {
	if c.Labels[v1alpha1.LabelSimulated] != "" {
		return c.Spec.ProvisionerRef.Name + " (simulated)"
	}
	return c.Spec.ProvisionerRef.Name
}

// of makes a column's value from a function of the kind's own type.
func of[T client.Object](value func(T) string) func(client.Object) string {
	return func(o client.Object) string { return value(o.(T)) }
}

// seenAt is when an event was last seen. Which field says so depends on who wrote it.
func seenAt(e *eventsv1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.EventTime.Time, e.DeprecatedLastTimestamp.Time, e.CreationTimestamp.Time)
}

// Age is how long ago a moment was, in words.
func Age(moment time.Time) string {
	if moment.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(moment))
}

package cli

import (
	"cmp"
	"strconv"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// scope says where the objects of a noun live.
type scope int

const (
	// installation: in no namespace.
	installation scope = iota
	// organization: in the organization's namespace.
	organization
	// shared: in the organization's namespace, and in kqueen-system for all organizations.
	shared
)

// noun is a kind of object that commands list and show. All list and get commands are made from this.
type noun struct {
	kind             string
	singular, plural string
	scope            scope
	object           func() client.Object
	list             func() client.ObjectList
	// columns are the same as the printer columns of the kind's definition, without the name in front.
	columns []column
	// unnamed leaves the name out of tables, for objects whose names say nothing.
	unnamed bool
	// none is how to get the first one, for people who have none.
	none string
}

// column is one column of a table.
type column struct {
	name string
	// wide columns are shown with -o wide only.
	wide  bool
	value func(client.Object) string
}

// conditioned is an object of KQueen's.
type conditioned interface {
	client.Object
	Shared() *v1alpha1.Status
}

var (
	readyColumn   = column{name: "Ready", value: readyStatus}
	messageColumn = column{name: "Message", wide: true, value: readyMessage}
	ageColumn     = column{name: "Age", value: func(o client.Object) string { return age(o.GetCreationTimestamp().Time) }}
)

var clusterNoun = &noun{
	kind: "Cluster", singular: "cluster", plural: "clusters", scope: organization,
	object: func() client.Object { return &v1alpha1.Cluster{} },
	list:   func() client.ObjectList { return &v1alpha1.ClusterList{} },
	columns: []column{
		readyColumn,
		{name: "Version", value: of(func(c *v1alpha1.Cluster) string { return c.Status.Version })},
		{name: "Provisioner", value: of(func(c *v1alpha1.Cluster) string { return c.Spec.ProvisionerRef.Name })},
		{name: "Endpoint", wide: true, value: of(func(c *v1alpha1.Cluster) string { return c.Status.Endpoint })},
		messageColumn,
		ageColumn,
	},
	none: "cluster create NAME",
}

var releaseNoun = &noun{
	kind: "Release", singular: "release", plural: "releases", scope: installation,
	object: func() client.Object { return &v1alpha1.Release{} },
	list:   func() client.ObjectList { return &v1alpha1.ReleaseList{} },
	columns: []column{
		readyColumn,
		{name: "Upgrade From", value: of(func(r *v1alpha1.Release) string { return r.Status.UpgradeFrom })},
		messageColumn,
		ageColumn,
	},
}

var provisionerNoun = &noun{
	kind: "Provisioner", singular: "provisioner", plural: "provisioners", scope: shared,
	object: func() client.Object { return &v1alpha1.Provisioner{} },
	list:   func() client.ObjectList { return &v1alpha1.ProvisionerList{} },
	columns: []column{
		{name: "Driver", value: of(func(p *v1alpha1.Provisioner) string { return p.Spec.Driver })},
		readyColumn,
		messageColumn,
		ageColumn,
	},
}

var organizationNoun = &noun{
	kind: "Organization", singular: "organization", plural: "organizations", scope: installation,
	object: func() client.Object { return &v1alpha1.Organization{} },
	list:   func() client.ObjectList { return &v1alpha1.OrganizationList{} },
	columns: []column{
		readyColumn,
		{name: "Namespace", value: of(func(o *v1alpha1.Organization) string { return o.Status.Namespace })},
		{name: "Display Name", wide: true, value: of(func(o *v1alpha1.Organization) string { return o.Spec.DisplayName })},
		messageColumn,
		ageColumn,
	},
	none: "organization create NAME",
}

var controlPlaneNoun = &noun{
	kind: "ControlPlane", singular: "controlplane", plural: "controlplanes", scope: organization,
	object: func() client.Object { return &v1alpha1.ControlPlane{} },
	list:   func() client.ObjectList { return &v1alpha1.ControlPlaneList{} },
	columns: []column{
		readyColumn,
		{name: "Version", value: of(func(p *v1alpha1.ControlPlane) string { return p.Status.Version })},
		{name: "Port", value: of(func(p *v1alpha1.ControlPlane) string {
			if p.Status.Endpoint == nil {
				return ""
			}
			return strconv.Itoa(int(p.Status.Endpoint.Port))
		})},
		{name: "Store", wide: true, value: of(func(p *v1alpha1.ControlPlane) string { return p.Spec.DataStore })},
		{name: "Host", wide: true, value: of(func(p *v1alpha1.ControlPlane) string {
			if p.Status.Endpoint == nil {
				return ""
			}
			return p.Status.Endpoint.ServerName
		})},
		messageColumn,
		ageColumn,
	},
	none: "cluster create NAME",
}

var identityProviderNoun = &noun{
	kind: "IdentityProvider", singular: "identityprovider", plural: "identityproviders", scope: installation,
	object: func() client.Object { return &v1alpha1.IdentityProvider{} },
	list:   func() client.ObjectList { return &v1alpha1.IdentityProviderList{} },
	columns: []column{
		{name: "Issuer", value: of(func(p *v1alpha1.IdentityProvider) string { return p.Spec.Issuer })},
		readyColumn,
		messageColumn,
		ageColumn,
	},
	none: "identityprovider create NAME --issuer URL --client-id ID",
}

var eventNoun = &noun{
	kind: "Event", singular: "event", plural: "events", scope: organization, unnamed: true,
	object: func() client.Object { return &eventsv1.Event{} },
	list:   func() client.ObjectList { return &eventsv1.EventList{} },
	columns: []column{
		{name: "Last Seen", value: of(func(e *eventsv1.Event) string { return age(seenAt(e)) })},
		{name: "Type", value: of(func(e *eventsv1.Event) string { return e.Type })},
		{name: "Reason", value: of(func(e *eventsv1.Event) string { return e.Reason })},
		{name: "Object", value: of(func(e *eventsv1.Event) string { return e.Regarding.Kind + "/" + e.Regarding.Name })},
		{name: "Note", value: of(func(e *eventsv1.Event) string { return e.Note })},
	},
}

var nodePoolNoun = &noun{
	kind: "NodePool", singular: "nodepool", plural: "nodepools", scope: organization,
	object: func() client.Object { return &v1alpha1.NodePool{} },
	list:   func() client.ObjectList { return &v1alpha1.NodePoolList{} },
	columns: []column{
		{name: "Cluster", value: of(func(p *v1alpha1.NodePool) string { return p.Spec.ClusterName })},
		{name: "Desired", value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Spec.Replicas)) })},
		{name: "Ready", value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Status.ReadyReplicas)) })},
		{name: "Updated", value: of(func(p *v1alpha1.NodePool) string { return strconv.Itoa(int(p.Status.UpdatedReplicas)) })},
		{name: "Version", wide: true, value: of(func(p *v1alpha1.NodePool) string { return p.Spec.Version })},
		{name: "Provider", value: of(func(p *v1alpha1.NodePool) string { return p.Spec.Template.Provider })},
		messageColumn,
		ageColumn,
	},
	none: "nodepool create NAME --cluster CLUSTER",
}

// machineNoun is called node on the command line: a Machine is KQueen's side of a node and has its name.
var machineNoun = &noun{
	kind: "Machine", singular: "node", plural: "nodes", scope: organization,
	object: func() client.Object { return &v1alpha1.Machine{} },
	list:   func() client.ObjectList { return &v1alpha1.MachineList{} },
	columns: []column{
		{name: "Cluster", value: of(func(m *v1alpha1.Machine) string { return m.Spec.ClusterName })},
		{name: "Pool", value: of(func(m *v1alpha1.Machine) string { return m.Labels[v1alpha1.LabelNodePool] })},
		readyColumn,
		{name: "Version", value: of(func(m *v1alpha1.Machine) string { return m.Status.Version })},
		{name: "Address", value: of(func(m *v1alpha1.Machine) string { return m.Status.Address })},
		{name: "Provider", wide: true, value: of(func(m *v1alpha1.Machine) string { return m.Spec.Provider })},
		messageColumn,
		ageColumn,
	},
	none: "nodepool create NAME --cluster CLUSTER",
}

// nounOf returns the noun of an object that a command makes or deletes.
func nounOf(o client.Object) *noun {
	switch o.(type) {
	case *v1alpha1.NodePool:
		return nodePoolNoun
	case *v1alpha1.Machine:
		return machineNoun
	case *v1alpha1.Organization:
		return organizationNoun
	case *v1alpha1.Provisioner:
		return provisionerNoun
	case *v1alpha1.IdentityProvider:
		return identityProviderNoun
	}
	return clusterNoun
}

// of makes a column's value from a function of the noun's own type.
func of[T client.Object](value func(T) string) func(client.Object) string {
	return func(o client.Object) string { return value(o.(T)) }
}

// readyStatus is the status of an object's Ready condition, or empty.
func readyStatus(o client.Object) string {
	if c, ok := o.(conditioned); ok {
		if ready := apimeta.FindStatusCondition(c.Shared().Conditions, v1alpha1.ConditionReady); ready != nil {
			return string(ready.Status)
		}
	}
	return ""
}

// readyMessage is the message of an object's Ready condition, or empty.
func readyMessage(o client.Object) string {
	if c, ok := o.(conditioned); ok {
		if ready := apimeta.FindStatusCondition(c.Shared().Conditions, v1alpha1.ConditionReady); ready != nil {
			return ready.Message
		}
	}
	return ""
}

// seenAt is when an event was last seen. Which field says so depends on who wrote it.
func seenAt(e *eventsv1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.EventTime.Time, e.DeprecatedLastTimestamp.Time, e.CreationTimestamp.Time)
}

// age is how long ago a moment was, for people.
func age(moment time.Time) string {
	if moment.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(moment))
}

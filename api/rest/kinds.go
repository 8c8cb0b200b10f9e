package rest

import (
	"net/http"
	"slices"
	"strings"
)

// Kind is a type of object that the API serves: where its objects are, and what callers can do with them. The server's
// routes, the client's calls and the commands of the command line come from [Kinds]; a new kind is a line there.
type Kind struct {
	// Name such as "Cluster", as it stands in objects, operationIds and schemas.
	Name string
	// Plural such as "clusters", as it stands in paths and in RBAC.
	Plural string
	Scope  KindScope
	// Verbs are the API verbs beside list and get, which every kind has. KQueen itself creates the objects that
	// callers cannot create.
	Verbs []Verb
	// About says in a sentence what an object is.
	About string
}

// KindScope says where the objects of a kind are.
type KindScope int

const (
	// ScopeInstallation is of objects that belong to no organization.
	ScopeInstallation KindScope = iota
	// ScopeOrganization is of objects that belong to one organization.
	ScopeOrganization
	// ScopeShared is of objects that belong to one organization, or to the installation, which shares them with all
	// organizations.
	ScopeShared
)

// Verb is an API verb: what a caller can do with objects. operationIds begin with it.
type Verb string

// The API verbs. VerbListAll lists the objects of all organizations of the caller.
const (
	VerbList    Verb = "list"
	VerbListAll Verb = "listAll"
	VerbGet     Verb = "get"
	VerbCreate  Verb = "create"
	VerbUpdate  Verb = "update"
	VerbReplace Verb = "replace"
	VerbDelete  Verb = "delete"
)

// Kinds are all kinds of objects that the API serves.
func Kinds() []Kind {
	all := []Verb{VerbCreate, VerbUpdate, VerbReplace, VerbDelete}
	return []Kind{
		{"Organization", "organizations", ScopeInstallation, all, "A tenant of KQueen: a team, a department, a customer."},
		{"Release", "releases", ScopeInstallation, nil, "A Kubernetes version that clusters can have."},
		{"Provisioner", "provisioners", ScopeShared, all, "A configured way to get clusters."},
		{"Cluster", "clusters", ScopeOrganization, all, "One Kubernetes cluster, whatever driver creates it."},
		{"NodePool", "nodepools", ScopeOrganization, all, "Nodes of a cluster that are alike."},
		{"Machine", "machines", ScopeOrganization, []Verb{VerbUpdate, VerbReplace, VerbDelete}, "One node of a cluster, from its creation to its removal."},
		{"IdentityProvider", "identityproviders", ScopeInstallation, all, "An OpenID Connect provider by which users sign in."},
		{"BackupStore", "backupstores", ScopeInstallation, all, "Where backups are kept."},
		{"Backup", "backups", ScopeOrganization, []Verb{VerbCreate, VerbDelete}, "The state of a cluster's Kubernetes API at one moment."},
		{"BackupSchedule", "backupschedules", ScopeOrganization, all, "Takes backups of a cluster at times, and deletes those that are not kept."},
		{"Restore", "restores", ScopeOrganization, []Verb{VerbCreate, VerbDelete}, "Brings a cluster back to the state of a backup."},
		{"Upgrade", "upgrades", ScopeOrganization, all, "Brings a cluster to another version of Kubernetes, step by step."},
		{"Rotation", "rotations", ScopeOrganization, all, "Replaces a credential of a cluster, such as its certificate authority."},
		{"Rehearsal", "rehearsals", ScopeOrganization, []Verb{VerbCreate, VerbDelete}, "Tries the upgrade of a cluster in a copy of what it stores."},
		{"ControlPlane", "controlplanes", ScopeOrganization, nil, "What KQueen runs of a cluster that it hosts."},
	}
}

// KindNamed returns the kind of a name such as "Cluster".
func KindNamed(name string) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// InOrganization says whether the path of its objects names an organization.
func (k Kind) InOrganization() bool { return k.Scope != ScopeInstallation }

// Can says whether there is an operation for an API verb.
func (k Kind) Can(v Verb) bool {
	switch v {
	case VerbList, VerbGet:
		return true
	case VerbListAll:
		return k.InOrganization()
	}
	return slices.Contains(k.Verbs, v)
}

// AllVerbs are the API verbs for which there is an operation.
func (k Kind) AllVerbs() []Verb {
	verbs := []Verb{VerbList, VerbGet}
	if k.InOrganization() {
		verbs = append(verbs, VerbListAll)
	}
	return append(verbs, k.Verbs...)
}

// Parameter names an object in paths: "nodePool".
func (k Kind) Parameter() string { return strings.ToLower(k.Name[:1]) + k.Name[1:] }

// PluralName is the plural as it ends operationIds: "NodePools".
func (k Kind) PluralName() string { return k.Name + "s" }

// Route is how one operation is called.
type Route struct {
	// ID is the operationId.
	ID     string
	Method string
	// Path is a template below [Prefix]: "/organizations/{organization}/clusters/{cluster}".
	Path string
}

// Route returns how the operation of an API verb is called.
func (k Kind) Route(v Verb) Route {
	collection := "/" + k.Plural
	if k.InOrganization() && v != VerbListAll {
		collection = "/organizations/{organization}" + collection
	}
	one := collection + "/{" + k.Parameter() + "}"
	switch v {
	case VerbList, VerbListAll:
		return Route{string(v) + k.PluralName(), http.MethodGet, collection}
	case VerbCreate:
		return Route{string(v) + k.Name, http.MethodPost, collection}
	case VerbUpdate:
		return Route{string(v) + k.Name, http.MethodPatch, one}
	case VerbReplace:
		return Route{string(v) + k.Name, http.MethodPut, one}
	case VerbDelete:
		return Route{string(v) + k.Name, http.MethodDelete, one}
	}
	return Route{string(VerbGet) + k.Name, http.MethodGet, one}
}

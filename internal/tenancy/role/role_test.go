package role

import (
	"context"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

var update = flag.Bool("update", false, "write golden files")

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

func TestLower(t *testing.T) {
	tests := map[string]struct{ a, b, want v1alpha1.Role }{
		"Narrowed":    {v1alpha1.RoleOwner, v1alpha1.RoleViewer, v1alpha1.RoleViewer},
		"Unreached":   {v1alpha1.RoleViewer, v1alpha1.RoleOwner, v1alpha1.RoleViewer},
		"Same":        {v1alpha1.RoleOperator, v1alpha1.RoleOperator, v1alpha1.RoleOperator},
		"NoRole":      {"", v1alpha1.RoleOwner, ""},
		"UnknownRole": {v1alpha1.RoleOwner, "admin", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Lower(tc.a, tc.b); got != tc.want {
				t.Errorf("Lower(%q, %q) = %q, want %q", tc.a, tc.b, got, tc.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	members := []v1alpha1.Member{
		{User: "alice", Role: v1alpha1.RoleViewer}, {Group: "corp:ops", Role: v1alpha1.RoleOperator}, {User: "corp:ops", Role: v1alpha1.RoleOwner},
	}
	tests := map[string]struct {
		user   string
		groups []string
		want   v1alpha1.Role
	}{
		"Named":            {"alice", nil, v1alpha1.RoleViewer},
		"HighestOfSeveral": {"alice", []string{"corp:ops"}, v1alpha1.RoleOperator},
		"Nobody":           {"bob", []string{"corp:dev"}, ""},
		"NoName":           {"", []string{""}, ""},
		"GroupIsNoUser":    {"mallory", []string{"alice"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Of(members, tc.user, tc.groups); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRaises(t *testing.T) {
	user := func(name string, r v1alpha1.Role) v1alpha1.Member { return v1alpha1.Member{User: name, Role: r} }
	group := func(name string, r v1alpha1.Role) v1alpha1.Member { return v1alpha1.Member{Group: name, Role: r} }
	const owner, operator, viewer = v1alpha1.RoleOwner, v1alpha1.RoleOperator, v1alpha1.RoleViewer
	before := []v1alpha1.Member{user("alice", owner), user("bob", viewer), user("bob", operator), group("ops", operator)}
	tests := map[string]struct {
		after []v1alpha1.Member
		want  bool
	}{
		"Same":          {before, false},
		"None":          {nil, false},
		"Removed":       {before[:1], false},
		"Lowered":       {[]v1alpha1.Member{user("alice", viewer)}, false},
		"Order":         {[]v1alpha1.Member{before[3], before[2], before[0]}, false},
		"HighestCounts": {[]v1alpha1.Member{user("bob", operator)}, false},
		"Twice":         {append(slices.Clone(before), user("alice", operator)), false},
		"Raised":        {[]v1alpha1.Member{user("bob", owner)}, true},
		"GroupRaised":   {[]v1alpha1.Member{group("ops", owner)}, true},
		"Named":         {append(slices.Clone(before), user("eve", viewer)), true},
		"GroupIsNoUser": {[]v1alpha1.Member{user("ops", viewer)}, true},
		"UserIsNoGroup": {[]v1alpha1.Member{group("alice", viewer)}, true},
		"Swapped":       {[]v1alpha1.Member{user("alice", owner), user("eve", viewer)}, true},
		"RaisedTwice":   {[]v1alpha1.Member{user("bob", viewer), user("bob", owner)}, true},
		"NoRole":        {[]v1alpha1.Member{user("eve", "admin")}, false}, // the schema refuses it
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Raises(before, tc.after); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

// TestTable keeps what each role may do in a page that users read, and that is read when it changes.
func TestTable(t *testing.T) {
	const golden = "../../../docs/reference/roles.md"
	if *update {
		if err := os.WriteFile(golden, []byte(Page()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Page()); diff != "" {
		t.Errorf("the table has changed (-want +got); go test ./internal/tenancy/role -update\n%s", diff)
	}
}

// install puts the RBAC objects of the installation and of two organizations into the plane.
func install(t *testing.T) client.Client {
	t.Helper()
	c := controlplanetest.Client(t)
	make := func(o client.Object) {
		if err := c.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
	objects := append(Shared(), Guard()...)
	for _, name := range []string{"blue", "red"} {
		o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}}
		make(o)
		make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}})
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, Bindings(o)...)
	}
	for range 2 { // the second time nothing is to be written
		if err := Keep(t.Context(), c, objects); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// ask asks the API server whether a group may.
func ask(ctx context.Context, c client.Client, group string, what authorizationv1.ResourceAttributes) (bool, error) {
	what.Group = v1alpha1.GroupVersion.Group
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "somebody", Groups: []string{group, Authenticated}, ResourceAttributes: &what,
	}}
	err := c.Create(ctx, review)
	return review.Status.Allowed, err
}

// TestAuthority asks a real API server, for each role, what the table says and what it does not.
func TestAuthority(t *testing.T) {
	c := install(t)
	in := func(namespace, verb, resource, sub string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: resource, Subresource: sub, Name: "x"}
	}
	tests := map[string]struct {
		what authorizationv1.ResourceAttributes
		from v1alpha1.Role // the lowest that may; "" for none of them
	}{
		"See":               {in("org-blue", "list", "clusters", ""), v1alpha1.RoleViewer},
		"Create":            {in("org-blue", "create", "clusters", ""), v1alpha1.RoleOperator},
		"Scale":             {in("org-blue", "update", "nodepools", "scale"), v1alpha1.RoleOperator},
		"Status":            {in("org-blue", "update", "clusters", "status"), ""},
		"ControlPlane":      {in("org-blue", "delete", "controlplanes", ""), ""},
		"View":              {in("org-blue", VerbAccess, "clusters", v1alpha1.AccessView), v1alpha1.RoleViewer},
		"Edit":              {in("org-blue", VerbAccess, "clusters", v1alpha1.AccessEdit), v1alpha1.RoleDeveloper},
		"Administer":        {in("org-blue", VerbAccess, "clusters", v1alpha1.AccessClusterAdmin), v1alpha1.RoleOperator},
		"BreakGlass":        {in("org-blue", VerbAccess, "clusters", AccessBreakGlass), v1alpha1.RoleOwner},
		"Provisioner":       {in("org-blue", "create", "provisioners", ""), v1alpha1.RoleOwner},
		"Log":               {in("org-blue", "list", AuditRecords, ""), v1alpha1.RoleOperator},
		"Inventory":         {in("org-blue", "list", Inventory, ""), v1alpha1.RoleViewer},
		"ForeignInventory":  {in("org-red", "list", Inventory, ""), ""},
		"WholeInventory":    {in("", "list", Inventory, ""), ""},
		"WholeLog":          {in("", "list", AuditRecords, ""), ""},
		"Users":             {in("", "list", Users, ""), ""},
		"Foreign":           {in("org-red", "list", "clusters", ""), ""},
		"ForeignAccess":     {in("org-red", VerbAccess, "clusters", v1alpha1.AccessView), ""},
		"Everywhere":        {in("", "list", "clusters", ""), ""},
		"Releases":          {in("", "list", "releases", ""), v1alpha1.RoleViewer},
		"SharedProvisioner": {in(v1alpha1.SystemNamespace, "get", "provisioners", ""), v1alpha1.RoleViewer},
		"SystemProvisioner": {in(v1alpha1.SystemNamespace, "update", "provisioners", ""), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range All() {
				got, err := ask(t.Context(), c, Group("blue", r), tc.what)
				want := tc.from != "" && rank(r) <= rank(tc.from)
				if err != nil || got != want {
					t.Errorf("%s: allowed is %t, want %t (%v)", r, got, want, err)
				}
			}
		})
	}
	for group, want := range map[string]bool{Group("blue", v1alpha1.RoleOwner): false, Authenticated: false, Admins: true} {
		for _, verb := range []string{"get", "list", "create", "update", "delete"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "somebody", Groups: []string{group},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Verb: verb, Resource: "identityproviders"},
			}}
			if err := c.Create(t.Context(), review); err != nil || review.Status.Allowed != want {
				t.Errorf("%s may %s identity providers: %t, want %t (%v)", group, verb, review.Status.Allowed, want, err)
			}
		}
	}
	for _, secret := range []string{"get", "list", "watch", "update"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "somebody", Groups: []string{Group("blue", v1alpha1.RoleOwner), Admins, Authenticated},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "org-blue", Verb: secret, Resource: "secrets"},
		}}
		if err := c.Create(t.Context(), review); err != nil || review.Status.Allowed {
			t.Errorf("an owner and administrator may %s Secrets (%v)", secret, err)
		}
	}
}

// as returns a client of the plane as one user.
func as(t *testing.T, groups ...string) client.Client {
	t.Helper()
	config := controlplanetest.Config(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: groups}
	c, err := client.New(config, client.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// guarded waits until the API server holds the guard, which it does some moments after it was told.
func guarded(t *testing.T) {
	t.Helper()
	owner := as(t, Group("blue", v1alpha1.RoleOwner), Authenticated)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o := &v1alpha1.Organization{}
		if err := controlplanetest.Client(t).Get(t.Context(), client.ObjectKey{Name: "blue"}, o); err != nil {
			t.Fatal(err)
		}
		o.Spec.Quota = &v1alpha1.Quota{Clusters: ptr.To[int32](9999)}
		if err := owner.Update(t.Context(), o, client.DryRunAll); apierrors.IsForbidden(err) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the guard does not come")
		}
	}
}

// TestGuard: an owner says who belongs to the organization, and cannot give it more than it was given.
func TestGuard(t *testing.T) {
	install(t)
	guarded(t)
	tests := map[string]struct {
		group  string
		change func(*v1alpha1.Organization)
		want   string // part of the refusal; empty when it is taken
	}{
		"OwnerMembers": {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) {
			o.Spec.Members = append(o.Spec.Members, v1alpha1.Member{User: "bob", Role: v1alpha1.RoleViewer})
		}, ""},
		"OwnerLast": {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) {
			o.Spec.Members = []v1alpha1.Member{{User: "alice", Role: v1alpha1.RoleOperator}}
		}, "the last owner stays one"},
		"OwnerNobody": {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Members = nil }, "the last owner stays one"},
		"OwnerHandsOver": {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) {
			o.Spec.Members = []v1alpha1.Member{{Group: "corp:owners", Role: v1alpha1.RoleOwner}, {User: "alice", Role: v1alpha1.RoleViewer}}
		}, ""},
		"AdminLast":       {Admins, func(o *v1alpha1.Organization) { o.Spec.Members = nil }, ""},
		"OwnerQuota":      {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Quota = &v1alpha1.Quota{Clusters: ptr.To[int32](99)} }, "spec.quota: only an administrator"},
		"OwnerReleases":   {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Releases = []string{"v1.36"} }, "spec.releases: only an administrator"},
		"OwnerDrivers":    {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Drivers = []string{"hosted"} }, "spec.drivers: only an administrator"},
		"OwnerStores":     {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.DataStoreNames = []string{"fast"} }, "spec.dataStoreNames: only an administrator"},
		"OwnerMachines":   {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.MachineProviders = []string{"local"} }, "spec.machineProviders: only an administrator"},
		"OwnerPods":       {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.PodSecurity = "privileged" }, "spec.podSecurity: only an administrator"},
		"OwnerEgress":     {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Egress = &v1alpha1.Egress{Allow: []string{"192.0.2.7:443"}} }, "spec.egress: only an administrator"},
		"OwnerFinalizers": {Group("blue", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Finalizers = append(o.Finalizers, "example.com/stay") }, "metadata.finalizers"},
		"Operator":        {Group("blue", v1alpha1.RoleOperator), func(o *v1alpha1.Organization) { o.Spec.Members = nil }, "cannot update"},
		"ForeignOwner":    {Group("red", v1alpha1.RoleOwner), func(o *v1alpha1.Organization) { o.Spec.Members = nil }, "cannot"},
		"Admin":           {Admins, func(o *v1alpha1.Organization) { o.Spec.Quota = &v1alpha1.Quota{Clusters: ptr.To[int32](5)} }, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.Organization{}
			if err := controlplanetest.Client(t).Get(t.Context(), client.ObjectKey{Name: "blue"}, o); err != nil {
				t.Fatal(err)
			}
			o.Spec.Members = []v1alpha1.Member{{User: "alice", Role: v1alpha1.RoleOwner}}
			if err := controlplanetest.Client(t).Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			tc.change(o)
			err := as(t, tc.group, Authenticated).Update(t.Context(), o)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestGuardKnowsEveryField: a new field of an Organization is its owners' to change, or it is not, and never by oversight.
func TestGuardKnowsEveryField(t *testing.T) {
	owners := []string{"spec.addons", "spec.displayName", "spec.members"}
	var all []string
	for f := range reflect.TypeFor[v1alpha1.OrganizationSpec]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, "spec."+name)
	}
	known := append(slices.DeleteFunc(slices.Clone(administered), func(f string) bool { return strings.HasPrefix(f, "metadata.") }), owners...)
	slices.Sort(all)
	slices.Sort(known)
	if diff := cmp.Diff(known, all); diff != "" {
		t.Errorf("fields that are guarded or the owners', and fields that there are (-known +all):\n%s", diff)
	}
}

// TestKeep puts back what a user changed, also what cannot be changed in place.
func TestKeep(t *testing.T) {
	c := install(t)
	o := &v1alpha1.Organization{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "red"}, o); err != nil {
		t.Fatal(err)
	}
	want := Bindings(o)
	owner, ok := want[0].DeepCopyObject().(*rbacv1.RoleBinding)
	if !ok || c.Get(t.Context(), client.ObjectKeyFromObject(owner), owner) != nil {
		t.Fatal("the first binding is not the owners' RoleBinding")
	}
	if err := c.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	elsewhere := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	elsewhere.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	if err := c.Create(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	itself := &rbacv1.ClusterRole{}
	key := client.ObjectKey{Name: "kqueen:org:red:viewer"}
	if err := c.Get(t.Context(), key, itself); err != nil {
		t.Fatal(err)
	}
	itself.Rules = append(itself.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	if err := c.Update(t.Context(), itself); err != nil {
		t.Fatal(err)
	}
	if err := Keep(t.Context(), c, want); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil || owner.RoleRef.Name != "kqueen:owner" {
		t.Errorf("the binding leads to %s (%v)", owner.RoleRef.Name, err)
	}
	if err := c.Get(t.Context(), key, itself); err != nil || slices.ContainsFunc(itself.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Verbs, "*") }) {
		t.Errorf("the role may still do everything: %v (%v)", itself.Rules, err)
	}
}

// TestNeeded: a refusal names the lowest role that would do.
func TestNeeded(t *testing.T) {
	for what, want := range map[string]v1alpha1.Role{
		"get clusters": v1alpha1.RoleViewer, "delete clusters": v1alpha1.RoleOperator, "patch organizations": v1alpha1.RoleOwner,
		"access clusters/edit": v1alpha1.RoleDeveloper, "access clusters/breakglass": v1alpha1.RoleOwner,
		"delete organizations": "", "create users": "", "create machines": "", "get secrets": "",
	} {
		verb, resource, _ := strings.Cut(what, " ")
		if got := Needed(verb, resource); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

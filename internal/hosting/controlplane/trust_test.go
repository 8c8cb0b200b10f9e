package controlplane

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// Requests that tell the rights apart.
const (
	pathPods        = "/api/v1/namespaces/default/pods"
	pathNodes       = "/api/v1/nodes"
	pathSecrets     = "/api/v1/secrets"
	pathNamespaces  = "/api/v1/namespaces"
	pathDeployments = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
	pathRoles       = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All"
	pathElsewhere   = "/groups" // at the issuer; the API server must not ask for it
	pathSystem      = "/apis/apps/v1/namespaces/kube-system/deployments?dryRun=All"
	pathEnter       = "/api/v1/namespaces/kube-system/pods/none/exec?command=sh&container=c&stdout=true"
	pathMayI        = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	pathMyself      = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

	deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},` +
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web"}]}}}}`
	role      = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`
	mayIActAs = `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":` +
		`{"verb":"impersonate","resource":"serviceaccounts","namespace":"kube-system","name":"clusterrole-aggregation-controller"}}}`
	myself = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
)

// checkNewKey: tokens of the old key and of the new one are taken while the key changes.
func checkNewKey(t *testing.T, plane *tenant, ours *signer, then time.Time) {
	t.Helper()
	old := ours.sign(t, plane.Issuer.Audience, "view")
	ours.renew(t)
	ours.now = then
	young := ours.sign(t, plane.Issuer.Audience, "view")
	if strings.Split(old, ".")[0] == strings.Split(young, ".")[0] {
		t.Fatal("the new token has the old key")
	}
	eventually(t, "a token of the new key is taken", func() bool {
		code, _ := plane.call(t, young, pathPods, "")
		return code == http.StatusOK
	})
	if code, _ := plane.call(t, old, pathPods, ""); code != http.StatusOK {
		t.Errorf("a token of the old key: want 200, got %d", code)
	}
}

// TestCredentialsOpenOneCluster runs a real control plane from what Describe says, and comes with tokens.
func TestCredentialsOpenOneCluster(t *testing.T) {
	const issuerURL = "https://issuer.kqueen.test"
	front := newIssuerServer(t)
	base := front.URL + "/issuer"
	// The clock stands 20 minutes before now, so that it can go on by ten and tokens are good nevertheless. The key
	// is as old as one that is due for a change.
	clock := time.Now().Add(-20 * time.Minute).Truncate(time.Second) // as keys are kept
	ours := newSigner(t, issuerURL, base, clock)
	ours.now = clock.Add(-ours.renew(t).Sub(clock))
	ours.file = nil
	ours.renew(t)
	ours.now = clock
	handler := ours.Handler()
	front.inner.Store(&handler)

	plane := newTenant(t, TokenIssuer{URL: ours.URL(), DiscoveryURL: ours.DiscoveryURL(), CA: front.ca(), Audience: v1alpha1.TokenAudience("one")})
	audience := plane.Issuer.Audience
	pid := plane.apply(t)

	t.Run("StartsWithoutTheIssuer", func(t *testing.T) {
		if code, _ := plane.call(t, ours.sign(t, audience, "view"), pathPods, ""); code != http.StatusUnauthorized {
			t.Errorf("a token before the issuer was ever reached: want 401, got %d", code)
		}
		if got := grantAll(t.Context(), plane.admin(t), false); !got.IsDone() {
			t.Errorf("the administrator cannot work without the issuer: %s", got)
		}
		front.open.Store(true)
		eventually(t, "a token is taken once the issuer is there", func() bool {
			code, _ := plane.call(t, ours.sign(t, audience, "view"), pathPods, "")
			return code == http.StatusOK
		})
	})
	t.Run("Groups", func(t *testing.T) { checkGroups(t, plane, ours) })
	t.Run("User", func(t *testing.T) { checkUser(t, plane, ours) })
	t.Run("Refused", func(t *testing.T) { checkRefused(t, plane, ours, base) })
	t.Run("NewKey", func(t *testing.T) { checkNewKey(t, plane, ours, clock.Add(11*time.Minute)) })
	t.Run("StolenKey", func(t *testing.T) {
		// The keys are removed, and the issuer begins with a new one.
		stolen := ours.sign(t, audience, "view", "unused") // the answer to a token that was there before is remembered for ten seconds
		ours = newSigner(t, issuerURL, base, ours.now)
		ours.renew(t)
		handler := ours.Handler()
		front.inner.Store(&handler)
		eventually(t, "a token of the new issuer is taken", func() bool {
			code, _ := plane.call(t, ours.sign(t, audience, "view"), pathPods, "")
			return code == http.StatusOK
		})
		if code, _ := plane.call(t, stolen, pathPods, ""); code != http.StatusUnauthorized {
			t.Errorf("a token of the stolen key: want 401, got %d", code)
		}
	})
	t.Run("Ended", func(t *testing.T) { checkEnded(t, plane, ours, pid) })
	t.Run("ReloadsWithoutRestart", func(t *testing.T) {
		old := plane.Issuer.Audience
		plane.Issuer.Audience = v1alpha1.TokenAudience("two")
		if now := plane.apply(t); now != pid {
			t.Errorf("the API server was restarted: process %d became %d", pid, now)
		}
		eventually(t, "the new audience is taken", func() bool {
			code, _ := plane.call(t, ours.sign(t, plane.Issuer.Audience, "view"), pathPods, "")
			return code == http.StatusOK
		})
		if code, _ := plane.call(t, ours.sign(t, old, "view", "fresh"), pathPods, ""); code != http.StatusUnauthorized {
			t.Errorf("the old audience: want 401, got %d", code)
		}
	})
}

// checkEnded ends a session with which one user entered, and no other.
func checkEnded(t *testing.T, plane *tenant, ours *signer, pid int) {
	t.Helper()
	got := func(with string) string {
		token, _, err := ours.Sign(issuer.Claims{Subject: "alice", Groups: []string{"view"}, Audience: plane.Issuer.Audience, ID: "with-" + with, Credential: with})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	over, good := got("over"), got("good")
	for _, token := range []string{over, good} {
		if code, _ := plane.call(t, token, pathPods, ""); code != http.StatusOK {
			t.Fatalf("before anything ended: want 200, got %d", code)
		}
	}
	plane.Issuer.Ended = []string{"another", "over"}
	if now := plane.apply(t); now != pid {
		t.Errorf("the API server was restarted: process %d became %d", pid, now)
	}
	eventually(t, "what was got with a session that ended is refused", func() bool {
		code, _ := plane.call(t, over, pathPods, "")
		return code == http.StatusUnauthorized
	})
	for _, token := range []string{good, got(""), ours.sign(t, plane.Issuer.Audience, "view")} {
		if code, _ := plane.call(t, token, pathPods, ""); code != http.StatusOK {
			t.Errorf("another user: want 200, got %d", code)
		}
	}
	plane.Issuer.Ended = nil
}

// checkGroups comes with a token of each group.
func checkGroups(t *testing.T, plane *tenant, ours *signer) {
	t.Helper()
	const ok, made, denied = http.StatusOK, http.StatusCreated, http.StatusForbidden
	tests := []struct {
		path, body string
		want       map[string]int // by group
	}{
		{pathPods, "", map[string]int{"view": ok, "edit": ok, "cluster-admin": ok, "other": denied}},
		{pathNamespaces, "", map[string]int{"view": ok, "edit": ok, "cluster-admin": ok, "other": denied}},
		{pathNodes, "", map[string]int{"view": ok, "edit": ok, "cluster-admin": ok, "other": denied}},
		{pathSecrets, "", map[string]int{"view": denied, "edit": ok, "cluster-admin": ok, "other": denied}},
		{pathDeployments, deployment, map[string]int{"view": denied, "edit": made, "cluster-admin": made, "other": denied}},
		{pathRoles, role, map[string]int{"view": denied, "edit": denied, "cluster-admin": made, "other": denied}},
		{pathSystem, deployment, map[string]int{"view": denied, "edit": denied, "cluster-admin": made, "other": denied}},
		// Who is let through does not find the pod.
		{pathEnter, "", map[string]int{"view": denied, "edit": denied, "cluster-admin": http.StatusNotFound, "other": denied}},
	}
	// Upstream's controller fills in the roles within moments of its start.
	eventually(t, "the role edit is filled in", func() bool {
		code, _ := plane.call(t, ours.sign(t, plane.Issuer.Audience, "edit"), pathDeployments, deployment)
		return code == made
	})
	eventually(t, "the policy about kube-system counts", func() bool {
		code, _ := plane.call(t, ours.sign(t, plane.Issuer.Audience, "edit"), pathSystem, deployment)
		return code == denied
	})
	for group, want := range map[string]bool{"view": false, "edit": false, "cluster-admin": true} {
		code, answer := plane.call(t, ours.sign(t, plane.Issuer.Audience, group), pathMayI, mayIActAs)
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.Unmarshal(answer, &review); err != nil || code != made || review.Status.Allowed != want {
			t.Errorf("%s may act as the ServiceAccount of a controller: %t, want %t (%d: %s)", group, review.Status.Allowed, want, code, answer)
		}
	}
	for _, tc := range tests {
		for group, want := range tc.want {
			if code, answer := plane.call(t, ours.sign(t, plane.Issuer.Audience, group), tc.path, tc.body); code != want {
				t.Errorf("%s, %s: want %d, got %d: %s", group, tc.path, want, code, answer)
			}
		}
	}
}

// checkUser asks the API server who it takes the caller for: that is what is in its audit log.
func checkUser(t *testing.T, plane *tenant, ours *signer) {
	t.Helper()
	code, answer := plane.call(t, ours.sign(t, plane.Issuer.Audience, "view", "edit"), pathMyself, myself)
	var review authenticationv1.SelfSubjectReview
	if err := json.Unmarshal(answer, &review); err != nil || code != http.StatusCreated {
		t.Fatalf("%d: %s: %v", code, answer, err)
	}
	user := review.Status.UserInfo
	slices.Sort(user.Groups)
	if user.Username != "kqueen:alice" || user.UID != "u-1" || !slices.Equal(user.Groups, []string{"kqueen:edit", "kqueen:view", "system:authenticated"}) {
		t.Errorf("want kqueen:alice of two groups, got %+v", user)
	}
	if got := user.Extra["authentication.kubernetes.io/credential-id"]; !slices.Equal(got, authenticationv1.ExtraValue{"JTI=credential-1"}) {
		t.Errorf("want the credential's id to be there, got %v", user.Extra)
	}
}

// checkRefused comes with tokens that are wrong, one way each. The first is right: it shows that the others are
// refused for what is wrong with them.
func checkRefused(t *testing.T, plane *tenant, ours *signer, base string) {
	t.Helper()
	now := time.Now()
	with := func(change func(map[string]any)) string {
		claims := map[string]any{
			"iss": ours.URL(), "aud": plane.Issuer.Audience, "sub": "alice", "groups": []string{"cluster-admin"}, "jti": "c",
			"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		}
		change(claims)
		return ours.forge(t, claims)
	}
	set := func(claim string, value any) string { return with(func(c map[string]any) { c[claim] = value }) }
	stranger := newSigner(t, ours.URL(), base, ours.now)
	stranger.renew(t)
	namesake := newSigner(t, "https://issuer.elsewhere.test", base, ours.now)
	namesake.file = ours.file
	namesake.renew(t)
	good := ours.sign(t, plane.Issuer.Audience, "cluster-admin")
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
	present := ours.now
	ours.now = present.Add(-3 * time.Hour)
	expired := ours.sign(t, plane.Issuer.Audience, "cluster-admin")
	ours.now = present

	tests := map[string]struct {
		token string
		want  int
	}{
		"Good":                {with(func(map[string]any) {}), http.StatusOK},
		"Expired":             {expired, http.StatusUnauthorized},
		"OtherCluster":        {ours.sign(t, v1alpha1.TokenAudience("other"), "cluster-admin"), http.StatusUnauthorized},
		"OtherIssuer":         {namesake.sign(t, plane.Issuer.Audience, "cluster-admin"), http.StatusUnauthorized},
		"UnknownKey":          {stranger.sign(t, plane.Issuer.Audience, "cluster-admin"), http.StatusUnauthorized},
		"NotSigned":           {none, http.StatusUnauthorized},
		"SignatureCutOff":     {parts[0] + "." + parts[1] + ".", http.StatusUnauthorized},
		"OtherPayload":        {parts[0] + "." + strings.Split(expired, ".")[1] + "." + parts[2], http.StatusUnauthorized},
		"LivesTooLong":        {set("exp", now.Add(25*time.Hour).Unix()), http.StatusUnauthorized},
		"NotYet":              {set("nbf", now.Add(10*time.Minute).Unix()), http.StatusUnauthorized},
		"NoID":                {with(func(c map[string]any) { delete(c, "jti") }), http.StatusUnauthorized},
		"ForTwoClusters":      {set("aud", []string{plane.Issuer.Audience, "kqueen.io/cluster/other"}), http.StatusUnauthorized},
		"NoGroups":            {with(func(c map[string]any) { delete(c, "groups") }), http.StatusUnauthorized},
		"GroupsFromElsewhere": {with(func(c map[string]any) { delete(c, "groups"); elsewhere(c, base) }), http.StatusUnauthorized},
		"NobodyIsMaster":      {set("groups", []string{"system:masters"}), http.StatusForbidden},
		"NobodyIsSystem":      {with(func(c map[string]any) { c["sub"], c["groups"] = "system:kube-controller-manager", []string{} }), http.StatusForbidden},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if code, answer := plane.call(t, tc.token, pathSecrets, ""); code != tc.want {
				t.Errorf("want %d, got %d: %s", tc.want, code, answer)
			}
		})
	}
}

// elsewhere says that the groups are to be asked for at another place, as OpenID Connect's distributed claims do.
func elsewhere(claims map[string]any, place string) {
	claims["_claim_names"] = map[string]string{"groups": "s"}
	claims["_claim_sources"] = map[string]any{"s": map[string]string{"endpoint": place + pathElsewhere}}
}

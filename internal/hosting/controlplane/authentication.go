package controlplane

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// publicPaths are all that a caller without a name may ask for: whether the API server is well, and
// the ConfigMap with which "kubeadm join" finds out whom to trust.
var publicPaths = []string{
	"/livez", "/readyz", "/healthz",
	"/api/v1/namespaces/kube-public/configmaps/cluster-info",
}

// TokenIssuer is who signs the credentials of users that an API server takes.
type TokenIssuer struct {
	// URL is in every token. Nothing has to answer there.
	URL string
	// DiscoveryURL is where the API server finds the issuer's keys. It is dialed from this host, not through the
	// egress into the cluster.
	DiscoveryURL string
	// CA is what signs the certificate of DiscoveryURL: one PEM certificate or more.
	CA []byte
	// Audience is what tokens for this one cluster carry: v1alpha1.TokenAudience.
	Audience string
	// Ended are the ids of sessions and tokens that are good no more; what was got with them is refused.
	Ended []string
}

// check refuses what would keep an API server from starting.
func (i TokenIssuer) check() error {
	var problems []error
	for field, value := range map[string]string{"url": i.URL, "discoveryURL": i.DiscoveryURL} {
		if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Hostname() == "" {
			problems = append(problems, fmt.Errorf("%s: %q: must be a URL such as https://issuer.kqueen.internal", field, value))
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(i.CA) {
		problems = append(problems, errors.New("ca: must hold at least one PEM certificate"))
	}
	// It stands in an expression.
	if i.Audience == "" || strings.ContainsAny(i.Audience, "'\\\n\r") {
		problems = append(problems, fmt.Errorf("audience: %q: must be such as %s", i.Audience, v1alpha1.TokenAudience("UID")))
	}
	for _, id := range i.Ended {
		if id == "" || strings.ContainsAny(id, "'\\\n\r") {
			problems = append(problems, fmt.Errorf("ended: %q: must be the id of a session or token", id))
		}
	}
	return errors.Join(problems...)
}

// authentication denies callers without a name everything but publicPaths, and takes the issuer's tokens where there
// is one. API servers read it again when it changes, without a restart; only "anonymous" must stay as it was.
func authentication(issuer *TokenIssuer) (apiserverv1.AuthenticationConfiguration, error) {
	anonymous := &apiserverv1.AnonymousAuthConfig{Enabled: true}
	for _, path := range publicPaths {
		anonymous.Conditions = append(anonymous.Conditions, apiserverv1.AnonymousAuthCondition{Path: path})
	}
	config := apiserverv1.AuthenticationConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "AuthenticationConfiguration"},
		Anonymous: anonymous,
	}
	if issuer == nil {
		return config, nil
	}
	if err := issuer.check(); err != nil {
		return config, fmt.Errorf("issuer of credentials: %w", err)
	}
	config.JWT = []apiserverv1.JWTAuthenticator{issuer.authenticator()}
	return config, nil
}

// authenticator says what a token must say and whom it makes of it. Upstream itself checks signature, issuer,
// audience and times, and adds the token's id to the user as authentication.kubernetes.io/credential-id, so
// that it is in the cluster's own audit log.
func (i TokenIssuer) authenticator() apiserverv1.JWTAuthenticator {
	rules := []apiserverv1.ClaimValidationRule{
		{Expression: "claims.aud == '" + i.Audience + "'", Message: "the token must be for this cluster alone"},
		{Expression: "claims.exp - claims.iat <= 86400", Message: "the token must not live longer than 24 hours"},
		{Expression: "has(claims.jti) && claims.jti != ''", Message: "the token must have an id"},
	}
	if len(i.Ended) > 0 {
		list := "'" + strings.Join(slices.Sorted(slices.Values(i.Ended)), "', '") + "'"
		rules = append(rules, apiserverv1.ClaimValidationRule{
			Expression: "!(claims.?cid.orValue('') in [" + list + "])", Message: "the session or token with which it was got has ended",
		})
	}
	return apiserverv1.JWTAuthenticator{
		// No egressSelectorType: the issuer is called from this host.
		Issuer: apiserverv1.Issuer{
			URL: i.URL, DiscoveryURL: ptr.To(i.DiscoveryURL), CertificateAuthority: string(i.CA), Audiences: []string{i.Audience},
		},
		ClaimValidationRules: rules,
		ClaimMappings: apiserverv1.ClaimMappings{
			Username: apiserverv1.PrefixedClaimOrExpression{Claim: "sub", Prefix: ptr.To(v1alpha1.TokenPrefix)},
			// An expression and not a claim: for a claim that is missing, upstream asks wherever the token says.
			Groups: apiserverv1.PrefixedClaimOrExpression{Expression: "dyn(claims.groups).map(g, '" + v1alpha1.TokenPrefix + "' + g)"},
			UID:    apiserverv1.ClaimOrExpression{Expression: "claims.?uid.orValue('')"},
		},
		// The prefix says so already. This stays true when a later change touches the mappings.
		UserValidationRules: []apiserverv1.UserValidationRule{
			{Expression: "user.username.startsWith('" + v1alpha1.TokenPrefix + "')", Message: "a user of KQueen is named kqueen:NAME"},
			{Expression: "user.groups.all(g, g.startsWith('" + v1alpha1.TokenPrefix + "'))", Message: "a group of KQueen is named kqueen:NAME"},
			{Expression: "!user.username.startsWith('system:')", Message: "users that begin with system: are Kubernetes' own"},
			{Expression: "!user.groups.exists(g, g.startsWith('system:'))", Message: "groups that begin with system: are Kubernetes' own"},
		},
	}
}

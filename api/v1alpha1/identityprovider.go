package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of an IdentityProvider, beside those of every kind.
const (
	// ConditionSecretReady is true when the client's secret is there, or the client has none.
	ConditionSecretReady = "SecretReady"
	// ConditionDiscovered is true when the issuer says about itself what signing in needs.
	ConditionDiscovered = "Discovered"
)

// Reasons of an IdentityProvider's conditions.
const (
	// ReasonSecretSet: the client's secret is there.
	ReasonSecretSet = "SecretSet"
	// ReasonPublicClient: the client has no secret, as the spec says.
	ReasonPublicClient = "PublicClient"
	// ReasonSecretMissing: the client's secret is not set yet.
	ReasonSecretMissing = "SecretMissing"
	// ReasonSecretForeign: the Secret of that name belongs to something else.
	ReasonSecretForeign = "SecretForeign"
	// ReasonSecretUnread: the Secret could not be read.
	ReasonSecretUnread = "SecretUnread"
	// ReasonDiscovered: the issuer answered.
	ReasonDiscovered = "Discovered"
	// ReasonDiscoveryFailed: the issuer did not answer, or said what cannot be used; the message says why.
	ReasonDiscoveryFailed = "DiscoveryFailed"
	// ReasonProviderInvalid: the spec says something that cannot be used.
	ReasonProviderInvalid = "ProviderInvalid"
)

const (
	// IdentityProviderSecretPrefix prefixes a provider's name in the name of its Secret in kqueen-system.
	IdentityProviderSecretPrefix = "identity-provider-"
	// IdentityProviderSecretKey is the key in that Secret.
	IdentityProviderSecretKey = "clientSecret"
	// AnnotationSecretSetAt says when the client's secret was set through the API.
	AnnotationSecretSetAt = "kqueen.io/secret-set-at"
)

// IdentityProvider is an OpenID Connect provider by which users sign in. Its name prefixes the names of its users
// and groups: "corp" makes "corp:alice@example.com".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=idp,categories=kqueen
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['sa', 'kqueen']) && !self.metadata.name.startsWith('system')",message="metadata.name must not be sa or kqueen or begin with system: its users would look like others"
type IdentityProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IdentityProviderSpec `json:"spec"`
	// +optional
	Status IdentityProviderStatus `json:"status,omitempty"`
}

// IdentityProviderSpec describes a provider, and what of its tokens is believed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.adminGroups) || has(self.groupsClaim)",message="adminGroups needs groupsClaim: without it no user is in a group"
type IdentityProviderSpec struct {
	// DisplayName is the name that users read on the page on which they sign in.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	DisplayName string `json:"displayName,omitempty"`
	// Issuer is the https URL that the provider's tokens name, to the character. It cannot be changed: users are those of
	// an issuer, and the client's secret is for it alone.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^https://[^/?#@\s]+(/[^?#@\s]*)?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed; create another identity provider"
	Issuer string `json:"issuer"`
	// ClientID is what the provider calls KQueen.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`
	// PublicClient says that the client has no secret. Otherwise no user can sign in until its secret is set. The secret
	// is not part of the spec: it goes in by the API, or as key "clientSecret" of the Secret
	// "identity-provider-NAME" in kqueen-system, and does not come out.
	// +optional
	PublicClient bool `json:"publicClient,omitempty"`
	// CABundle has the authorities that sign the issuer's certificates, in PEM: these and no others. Those that the system trusts when it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:XValidation:rule="self == '' || self.contains('-----BEGIN CERTIFICATE-----')",message="must be certificates in PEM"
	CABundle string `json:"caBundle,omitempty"`
	// Scopes are asked for beside openid; profile and email when the list is absent.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	Scopes []string `json:"scopes,omitempty"`
	// UsernameClaim names the claim of the ID token that is the user's name. With email, the token has to say that
	// the address is verified.
	// +optional
	// +kubebuilder:default=sub
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	UsernameClaim string `json:"usernameClaim,omitempty"`
	// GroupsClaim names the claim with the groups: a text or a list of texts. A token without it is refused. No
	// groups are read when it is absent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	GroupsClaim string `json:"groupsClaim,omitempty"`
	// AdminGroups are groups, as the provider writes them, whose members administer the installation.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=200
	AdminGroups []string `json:"adminGroups,omitempty"`
}

// IdentityProviderStatus is what is known of a provider.
type IdentityProviderStatus struct {
	Status `json:",inline"`
}

// +kubebuilder:object:root=true

// IdentityProviderList is a list of identity providers.
type IdentityProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IdentityProvider `json:"items"`
}

// SecretName is the name of the Secret in [SystemNamespace] that holds the client's secret.
func (p *IdentityProvider) SecretName() string { return IdentityProviderSecretPrefix + p.Name }

// Shared returns the part of the status that all kinds have.
func (p *IdentityProvider) Shared() *Status { return &p.Status.Status }

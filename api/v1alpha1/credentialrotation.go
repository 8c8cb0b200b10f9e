package v1alpha1

// RotatedCredential is a credential of a control plane that a Rotation replaces.
//
// +kubebuilder:validation:Enum=CertificateAuthority;ServiceAccountKey;EncryptionKey
type RotatedCredential string

// The credentials that are rotated.
const (
	// CredentialCertificateAuthority is the authority that signs the certificates of users, of nodes and of the API server.
	CredentialCertificateAuthority RotatedCredential = "CertificateAuthority"
	// CredentialServiceAccountKey is the key that signs the tokens of service accounts.
	CredentialServiceAccountKey RotatedCredential = "ServiceAccountKey"
	// CredentialEncryptionKey is the key by which Secrets are encrypted where they are stored.
	CredentialEncryptionKey RotatedCredential = "EncryptionKey"
)

// RotationStep is how far a new credential has taken the place of the old one.
//
// +kubebuilder:validation:Enum=Trust;Sign;Serve;Remove
type RotationStep string

// The steps of a rotation, in their order.
const (
	// StepTrust: the new one is trusted beside the old one.
	StepTrust RotationStep = "Trust"
	// StepSign: what the cluster issues is signed by the new one. What the old one has signed is trusted, and the API server still shows a
	// certificate of the old authority.
	StepSign RotationStep = "Sign"
	// StepServe: the API server shows a certificate of the new authority, too.
	StepServe RotationStep = "Serve"
	// StepRemove: the old one is trusted no more, and its private key is gone.
	StepRemove RotationStep = "Remove"
)

// AnnotationTrustHash on a Node says which authorities of the cluster a machine trusts that a user has joined: "sha256:" and the hash of their
// certificates.
const AnnotationTrustHash = "kqueen.io/trust-hash"

// CredentialRotation is how far the rotation of one credential is.
type CredentialRotation struct {
	// UID of the Rotation.
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// Credential that is replaced.
	Credential RotatedCredential `json:"credential"`
	// Step that the control plane is to take.
	Step RotationStep `json:"step"`
}

func (r *CredentialRotation) stepOf(of RotatedCredential) RotationStep {
	if r == nil || r.Credential != of {
		return ""
	}
	return r.Step
}

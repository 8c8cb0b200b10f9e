package rest

import "time"

// AuditRecord is one action in the audit log.
type AuditRecord struct {
	// Sequence is 1 for the first record and grows by one.
	Sequence int64      `json:"sequence"`
	Time     time.Time  `json:"time"`
	Actor    AuditActor `json:"actor"`
	// Action is what was done, such as create.
	Action string `json:"action"`
	// Organization whose business it is; empty for the installation's.
	Organization string      `json:"organization,omitempty"`
	Object       AuditObject `json:"object"`
	// Source is the client's address.
	Source    string `json:"source,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Outcome is succeeded, denied, failed, or unknown: the server stopped before it recorded how the action ended.
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Before and After are the SHA-256 of what the object said before and after, in hexadecimal.
	Before string            `json:"before,omitempty"`
	After  string            `json:"after,omitempty"`
	Detail map[string]string `json:"detail,omitempty"`
	// Previous is the hash of the record before this one, and Hash that of this record: 64 hexadecimal digits.
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

// AuditActor is who acted.
type AuditActor struct {
	// Kind is user, service-account, anonymous, system, admin-plane for a caller who used the admin plane directly
	// instead of the API, or owner for the owner of the data directory.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// Credential is the id of the token or session that was used.
	Credential string `json:"credential,omitempty"`
}

// AuditObject is what was acted on.
type AuditObject struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// AuditHead is the end of the audit log at one time. With a head that they have kept, auditors can prove later that no
// record before it was removed.
type AuditHead struct {
	Sequence int64  `json:"sequence" minimum:"0"`
	Hash     string `json:"hash" maxLength:"64"`
}

// AuditReport is the result of a check of the audit log.
type AuditReport struct {
	// Records is how many were checked.
	Records int64     `json:"records"`
	Head    AuditHead `json:"head"`
	// Problems is empty when the log is whole; otherwise the first of them.
	Problems []AuditProblem `json:"problems"`
	// More says that there are further problems, which are not named.
	More bool `json:"more,omitempty"`
}

// AuditProblem names a place and what is wrong there.
type AuditProblem struct {
	// First and Last are the sequences of the records in question.
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	Detail string `json:"detail"`
}

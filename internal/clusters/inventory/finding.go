package inventory

// Severity says how soon a finding wants an operator.
type Severity string

// The severities.
const (
	Critical Severity = "Critical"
	Warn     Severity = "Warning"
	Info     Severity = "Info"
)

// Rule names a rule.
type Rule string

// Finding is what an operator or a user should do something about.
type Finding struct {
	Rule     Rule
	Severity Severity
	Place
	// Subject is what it is about. Of containers it is what owns their pods, whose kind is in SubjectKind.
	Subject     Key
	SubjectKind string
	// Reason says what is so, and Remedy what to do.
	Reason, Remedy string
}

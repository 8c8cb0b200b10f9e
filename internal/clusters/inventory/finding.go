package inventory

// Finding is something in a cluster that deserves attention, and what to do about it.
type Finding struct {
	// Rule is the name of what was looked for, and Severity "critical", "warning" or "info".
	Rule, Severity string
	Place          Place
	// Kind, Namespace, Name and Part say what it is about, as a Key does.
	Kind                  Kind
	Namespace, Name, Part string
	// Reason says what is so, and Remedy what to do.
	Reason, Remedy string
}
